"""Reported failures, by case id: a law sees the fault, and says nothing once it is mended."""

import json
from pathlib import Path

import pytest

from pytest_ctxguard import broken_law
from pytest_ctxguard.checks.laws.judging import LawPlan, judge_laws
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.transcript.messages import content_text, tool_calls, tool_rounds, turn_starts
from tests.checks.laws.faulty import characters

CASES = Path(__file__).parents[4] / "shared" / "cases" / "cases.jsonl"
KINDS = ("pair_integrity", "mutation")
NO_LAW = {"pair-11": "that a call still pending must stay is no law: others drop dead calls"}


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


def asked(*ids):
    calls = [
        {"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def got(call):
    return {"role": "tool", "tool_call_id": call, "content": f"what {call} found"}


SYSTEM = {"role": "system", "content": "Help at the harbour."}
ONE = [SYSTEM, user("Has the ferry left?"), asked("c1"), got("c1")]
TWO = [
    *(SYSTEM, user("Tide at six?"), asked("t1"), got("t1"), answer("Low.")),
    *(user("And at noon?"), asked("t2"), got("t2"), answer("High.")),
]
THREE = [*TWO, user("Thanks.")]
PARALLEL = [user("Compare both berths."), asked("a", "b"), got("a"), got("b"), user("Well?")]


def whole_rounds(messages, start):
    """Move a cut out of the middle of a round, to its beginning."""
    inside = [r.start for r in tool_rounds(messages) if r.start < start < r.stop]
    return messages[inside[0] if inside else start :]


def lifts_results(messages, budget, count):
    end = len(messages)
    while messages[end - 1]["role"] == "tool":
        end -= 1
    kept = messages[:end]
    if count(kept) <= budget:
        return kept
    return [*kept[-1:], *messages[end:]]


def lifts_and_puts_back(messages, budget, count):
    return list(messages) if count(messages) <= budget else list(messages[-4:])


def any_call_will_do(messages, last):
    start = max(0, len(messages) - last)
    while start and messages[start]["role"] == "tool":
        tail = messages[start:]
        ids = {m["tool_call_id"] for m in tail if m["role"] == "tool"}
        if any(call["id"] in ids for m in tail for call in tool_calls(m)):
            break
        start -= 1
    return messages[start:]


def all_calls_must_be_there(messages, last):
    return whole_rounds(messages, max(0, len(messages) - last))


def last_message(messages):
    return messages[-1:]


def drops_calls_only(messages, limit):
    kept = messages[-limit:]
    answered = {m.get("tool_call_id") for m in kept}
    return [m for m in kept if {c["id"] for c in tool_calls(m)} <= answered]


def strips_the_first(messages, limit):
    """Cut what is stored of earlier runs, as if the system message were not in front."""
    stored, run = earlier(messages)
    kept = [*stored[:1], *stored[1:][-(limit - 1) :]] if limit > 1 else stored[-1:]
    return [*(kept[1:] if kept and kept[0]["role"] == "tool" else kept), *run]


def strips_after_the_system(messages, limit):
    stored, run = earlier(messages)
    tail = stored[1:][-(limit - 1) :] if limit > 1 else []
    while tail and tail[0]["role"] == "tool":
        tail = tail[1:]
    return [*stored[:1], *tail, *run]


def earlier(messages):
    start = turn_starts(messages)[-1]
    return messages[:start], messages[start:]


def whole_rounds_only(messages, limit):
    return whole_rounds(messages, max(0, len(messages) - limit))


def summary_then_rest(messages, compacted):
    return [user("[summary]"), *messages[compacted:]] if compacted else list(messages)


def summary_then_whole_rounds(messages, compacted):
    kept = whole_rounds(messages, compacted)
    return [user("[summary]"), *kept] if compacted else list(messages)


def repairs_by_neighbour(messages):
    repaired = []
    for message, after in zip(messages, [*messages[1:], {}], strict=True):
        for call in tool_calls(message):
            repaired.append({**message, "tool_calls": [call]})
            if after.get("tool_call_id") != call["id"] or len(tool_calls(message)) > 1:
                repaired.append({**got(call["id"]), "content": "[result unavailable]"})
        if not tool_calls(message):
            repaired.append(message)
    return repaired


def shortens_in_place(messages):
    for message in messages[:-1]:
        message["content"] = content_text(message)[:10]
    return list(messages)


def shortens_a_copy(messages):
    return [*({**m, "content": content_text(m)[:10]} for m in messages[:-1]), messages[-1]]


def returns_what_it_was_given(messages):
    return messages if len(messages) < 10 else messages[-10:]


# id -> law, history, knobs, the faulty policy, the mended one, and options
WITH = {
    "pair-01": ("identity-below-budget", ONE, {}, lifts_results, lifts_and_puts_back),
    "pair-02": ("well-formed", TWO[:-1], {"last": 5}, any_call_will_do, all_calls_must_be_there),
    "pair-04": ("well-formed", ONE, {}, last_message, SlidingWindow(last=1)),
    "pair-05": ("well-formed", TWO[:8], {"limit": 1}, drops_calls_only, whole_rounds_only),
    "pair-07": ("well-formed", THREE, {"limit": 3}, strips_the_first, strips_after_the_system),
    "pair-08": (
        "well-formed", PARALLEL, {"compacted": 3}, summary_then_rest, summary_then_whole_rounds
    ),
    "pair-10": ("well-formed", PARALLEL[:4], {}, repairs_by_neighbour, full_history),
    "mutate-01": ("unmutated", TWO[:6], {}, shortens_in_place, shortens_a_copy),
    "mutate-02": ("unmutated", [user("Only this.")], {}, returns_what_it_was_given, full_history),
}  # fmt: skip


@pytest.mark.parametrize("case", WITH)
def test_the_law_sees_the_fault_and_not_the_mended_policy(case):
    law, history, knobs, faulty, mended = WITH[case]
    budget = 10_000 if law == "identity-below-budget" else None
    options = {"budget": budget, "knobs": knobs, "counter": characters}
    assert broken_law(law, faulty, history, **options) is not None
    assert broken_law(law, mended, history, **options) is None


@pytest.mark.parametrize("case", WITH)
def test_the_fault_is_found_without_the_history_that_showed_it(case):
    law, _, knobs, faulty, _ = WITH[case]
    declares = (law,) if law == "identity-below-budget" else ()
    sweep = {name: range(1, 12) for name in knobs}
    made = faulty if knobs else lambda: faulty
    verdict = judge_laws(
        LawPlan(made, counter=characters, sweep=sweep, declares=declares, max_examples=30)
    )
    assert f"ctx_policy_laws.{law}" in {finding.rule for finding in verdict.judgement.findings}


def test_pair_07_breaks_at_two_limits_and_at_none_between():
    broken = {
        limit
        for limit in range(3, 8)
        if broken_law(
            "well-formed", strips_the_first, THREE, knobs={"limit": limit}, counter=characters
        )
    }
    assert broken == {3, 7}


@pytest.mark.skipif(not CASES.is_file(), reason="reported cases: ../shared/cases is not here")
def test_every_case_of_these_kinds_is_here():
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    assert {row["id"] for row in rows if row["kind"] in KINDS} == {*WITH, *NO_LAW}
