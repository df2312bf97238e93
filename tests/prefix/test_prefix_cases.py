"""Real reports of prefixes that broke: each is found, placed and named; a mended one is not.

Each restates a public report in a few lines. Where the report's list is here, the places and bytes
it gives are compared, too.
"""

import json
from pathlib import Path

import pytest

from pytest_ctxguard.prefix.changes import changes
from pytest_ctxguard.prefix.cost import break_even
from pytest_ctxguard.prefix.rules import load_rules
from pytest_ctxguard.prefix.simulate import simulate
from tests.factories import LetterCounter, assistant, call, calling, encoder, result, system, user
from tests.prefix.letters import sent

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "cases.jsonl"
COUNTERS = [LetterCounter(), encoder()]
BLOCK = "<system-reminder>mode is now: build</system-reminder>"


def weather(arguments):
    function = {"name": "weather", "arguments": arguments}
    return {**calling(), "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def prompted(text, *more):
    return sent(system(text), user("a long question about invoices"), *more)


LATER = (assistant("a long answer about invoices"), user("next"))
PLANNED = (assistant("plan: 1, 2, 3"), calling(call("w", "write")), result("ok", "w"),
           assistant("done"))  # fmt: skip
AT_SRV = "context: repo at /srv/app"
BLOCKS = [{"type": "text", "text": AT_SRV}]

REPORTS = {
    # the clock is written into the system prompt at every call
    "cache-01": (
        prompted("You are the billing desk. Clock: Fri 6 Mar 2026, 10:00. Rules: …"),
        prompted("You are the billing desk. Clock: Fri 6 Mar 2026, 10:01. Rules: …", *LATER),
        ("system", 0, "clock"),
    ),
    # only the day is, and the session goes on over midnight
    "cache-02": (
        prompted("Env: linux. Today's date: Tue Jun 16 2026"),
        prompted("Env: linux. Today's date: Wed Jun 17 2026", *LATER),
        ("system", 0, "clock"),
    ),
    # a store keeps the arguments in another order of keys
    "cache-04": (
        sent(user("weather?"), weather('{"city": "Oslo", "unit": "C"}'), result("7 C")),
        sent(user("weather?"), weather('{"unit": "C", "city": "Oslo"}'), result("7 C"),
             user("and tomorrow?")),
        ("messages", 1, "same meaning, different bytes (key order)"),
    ),
    # a reminder goes with the newest user message
    "cache-05": (
        sent(user(f"plan it\n{BLOCK}"), *PLANNED),
        sent(user("plan it"), *PLANNED, user(f"thanks\n{BLOCK}")),
        ("messages", 0, "injected block moved to a later message"),
    ),
    # an old tool result is cleared
    "cache-07": (
        sent(user("q"), *(m for n in range(6) for m in (calling(call(f"k{n}")),
                                                         result("line\n" * 20, f"k{n}")))),
        sent(user("q"), calling(call("k0")), result("[cleared]", "k0"),
             *(m for n in range(1, 6) for m in (calling(call(f"k{n}")),
                                                result("line\n" * 20, f"k{n}"))), user("next")),
        ("messages", 2, "tool result cleared"),
    ),
    # a message of one text block is replayed as a string
    "cache-10": (
        sent(user(BLOCKS)),
        sent(user(AT_SRV), assistant("ok"), user("go on")),
        ("messages", 0, "same meaning, different bytes (text or blocks)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("counter", COUNTERS, ids=["counted", "encoded"])
@pytest.mark.parametrize(("before", "after", "says"), REPORTS.values(), ids=REPORTS)
def test_the_break_is_found_placed_and_named(before, after, says, counter):
    [change] = changes([before, after], counter=counter)
    assert change.kind == "diverged"
    assert (change.section, change.message, change.why) == says
    assert change.before != change.after
    [mended] = changes([before, sent(*before.messages, *LATER)], counter=counter)
    assert (mended.kind, mended.why) == ("extended", "")


def test_a_cleared_result_costs_more_than_it_saves_for_many_calls():
    before, after, _ = REPORTS["cache-07"]
    [change] = changes([before, after], counter=encoder())
    added = encoder().count([user("next")]) - encoder().count([])
    removed = before_tokens(before) + added - change.tokens
    again = change.tokens - change.shared_tokens - added
    assert 0 < removed < again / 4
    assert break_even(removed, again, rule=load_rules()["anthropic"]).calls > 40


def before_tokens(request):
    return encoder().count(request.messages)


def marked(message):
    parts = [{"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}]
    return {**message, "content": parts}


def blocks(text, number):
    return {"role": "user", "content": [{"type": "text", "text": text}] * number}


@pytest.mark.parametrize(("added", "read"), [(10, True), (25, False)])
def test_cache_08_marks_that_move_too_far_read_nothing(added, read):
    """A proxy sets its mark at a fixed distance from the end; the text only grows."""
    long = "the rules of this desk, at length. " * 200
    one = sent(marked(system(long)), user("a"), marked(user("b")))
    plain = {**user("b"), "content": [{"type": "text", "text": "b"}]}
    two = sent(system([{"type": "text", "text": long}]), user("a"), plain, blocks("c", added),
               marked(user("d")))  # fmt: skip
    [change] = changes([one, two], counter=encoder())
    assert change.kind == "extended"  # the text is as it was
    found = simulate([one, two], rule=load_rules()["anthropic"], counter=encoder(), pace=5)
    last = found.calls[1]
    assert (last.read > 0) == read
    assert last.miss == ("" if read else "no cache mark within 20 blocks after the last entry")


@pytest.mark.skipif(not SHARED.is_file(), reason="the reports' list, ../shared/cases, is not here")
def test_the_reports_give_the_same_places_and_bytes():
    rows = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").splitlines()]
    compared = 0
    for row in rows:
        requests = [turn for turn in row["messages_or_text"].values() if isinstance(turn, dict)] \
            if row["id"].startswith("cache-") else []  # fmt: skip
        if len(requests) == 2:
            [change] = changes(
                [sent(*turn["messages"], tools=tuple(turn["tools"])) for turn in requests],
                counter=LetterCounter(),
            )
            right = row["right_value"]
            assert change.message == right["first_changed_message"], row["id"]
            assert change.shared_bytes == right.get("first_diff_byte", change.shared_bytes)
            assert bool(change.same_meaning) == (
                right.get("semantically_equal", right.get("equal_after_normalising", False))
            )
            compared += 1
    assert compared == 5
    known = {row["id"] for row in rows if row["kind"] == "cache_prefix"}
    assert known == {*REPORTS, "cache-08"}
