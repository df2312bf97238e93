"""Prefixes of recorded traffic, with no policy at all."""

from collections import Counter
from pathlib import Path

import pytest

from pytest_ctxguard.prefix.changes import changes
from pytest_ctxguard.prefix.recorded import recorded_requests
from pytest_ctxguard.prefix.rules import load_rules
from pytest_ctxguard.prefix.simulate import simulate
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.loading import read
from pytest_ctxguard.transcript.model import Compaction
from pytest_ctxguard.transcript.runs import Exchange, join
from pytest_ctxguard.transcript.summary import tokens_of
from pytest_ctxguard.transcript.wire.wire import Answer, Asked
from tests.factories import LetterCounter, assistant, encoder, session, tool, user

SHARED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
STABLE = "vcr_pydantic-ai/test_openai_tool_call_roundtrip_wire_stable[vercel].yaml"
DROPPING = "vcr_pydantic-ai/test_anthropic_thinking_agui_0_1_10_drops_prefix.yaml"


def recorded(**fields):
    return recorded_requests([session(facts=(), **fields)], counter=LetterCounter())


def test_what_was_sent_is_the_history_before_each_call():
    requests = recorded()
    assert [len(sent.messages) for sent in requests] == [2, 4, 6, 8]
    assert [change.kind for change in changes(requests, counter=LetterCounter())] == [
        "extended"
    ] * 3
    assert all(sent.tools == (tool(),) for sent in requests)
    assert requests[0].tokens == LetterCounter().count(session().messages[:2], tools=(tool(),))


def test_a_recorded_compaction_breaks_the_prefix():
    compaction = Compaction(at=6, kept_from=6, inserted=(user("So far: a number."),))
    requests = recorded(compactions=(compaction,))
    found = changes(requests, counter=LetterCounter())
    assert [change.kind for change in found] == ["extended", "diverged", "extended"]
    assert found[1].where.startswith("messages, message 1")


def test_recorded_tools_models_and_settings_count():
    requests = recorded(
        recorded={
            2: {"model": "a", "tools": ["read_log"], "tool_choice": "auto"},
            4: {"model": "b", "tools": [], "tool_choice": "none", "temperature": 0},
        }
    )
    assert (requests[0].tools, requests[1].tools) == ((tool(),), ())
    assert (requests[0].model, requests[1].model) == ("a", "b")
    assert requests[1].settings == {"tool_choice": "none"}


def test_exchanges_of_several_runs_are_in_their_order():
    runs = [
        session(facts=(), recorded={2: {"exchange": 1}, 4: {"exchange": 3}}),
        session(facts=(), recorded={4: {"exchange": 2}}),
    ]
    requests = recorded_requests(runs, counter=LetterCounter())
    assert [len(sent.messages) for sent in requests] == [2, 4, 4]


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path.name}: the shared recordings are not here")
    return read(path).runs


def test_the_cassette_that_is_stable_changes_its_tools_only():
    found = changes(recorded_requests(shared(STABLE), counter=encoder()), counter=encoder())
    assert [change.kind for change in found] == ["extended", "diverged", "identical"]
    assert (found[1].section, found[1].cause) == ("tools", "no tools any more")


def test_the_cassette_that_drops_its_prefix_loses_the_thinking():
    found = changes(recorded_requests(shared(DROPPING), counter=encoder()), counter=encoder())
    assert [change.kind for change in found] == ["extended", "diverged"]
    assert (found[1].section, found[1].message) == ("messages", 1)
    assert found[1].cause == "reasoning_content, thinking_blocks taken off"
    assert found[1].shared_tokens < found[1].tokens / 2


def test_a_long_session_reads_what_the_rules_let_expect_or_nothing():
    runs = shared("pi_badlogic/large-session.jsonl")
    requests = recorded_requests(runs, counter=encoder())
    found = simulate(requests, rule=load_rules()["anthropic"], counter=encoder())
    assert found.times == "as recorded"
    pairs = Counter(
        (call.read > 0, cached > 0)
        for call, recorded_call in zip(
            found.calls, (c for run in runs for c in run.calls), strict=True
        )
        if (cached := tokens_of(recorded_call.recorded, "cached_tokens")) is not None
    )
    # 34 times nothing was read though the text goes on: what changed there is not on record, see
    # tests/transcript/test_reuse.py
    assert pairs == {(True, True): 400, (True, False): 34, (False, False): 4, (False, True): 1}
    assert Counter(call.miss.partition(":")[0] for call in found.calls[1:] if call.miss)[
        "expired"
    ] == 3  # fmt: skip


def test_cache_marks_that_a_client_moves_count_where_they_were():
    """A client marks its last message, as Anthropic's guide has it; each call reads the last."""
    runs, _ = join(Document("agent.yaml", b""), list(moving_marks(3)))
    [run] = runs
    assert run.recorded[1]["cache_marks"] == [0]
    assert run.recorded[3]["cache_marks"] == [2]
    assert "cache_marks" not in run.recorded[5]  # the messages have these
    requests = recorded_requests(runs, counter=encoder())
    assert [change.kind for change in changes(requests, counter=encoder())] == ["extended"] * 2
    calls = simulate(requests, rule=load_rules()["anthropic"], counter=encoder()).calls
    assert [call.miss for call in calls] == ["first call", "", ""]
    assert calls[0].written > 1024
    assert [call.read for call in calls[1:]] == [
        before.read + before.written for before in calls[:-1]
    ]


def moving_marks(calls):
    """Yield exchanges of which only the last message of each is marked."""
    messages = []
    for number in range(calls):
        text = f"{number}: " + "the log of one day " * 400
        marked = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        answer = assistant(f"Day {number} is fine.")
        yield Exchange(
            asked=Asked(
                messages=(*messages, {"role": "user", "content": [marked]}),
                tools=(),
                previous=None,
                model="claude-sonnet-5",
            ),
            answer=Answer(messages=(answer,)),
        )
        messages += [user(text), answer]
