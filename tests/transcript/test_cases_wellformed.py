"""Reported defects of policies that a provider refuses, one test per report.

Each policy does in a few lines what the report says of the real one; what it sends is judged by
the public check, and so is what a mended policy sends. The inputs are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.checks.wellformed import Wellformed
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import assistant, call, calling, case_of, replayed, result, system, tool, user

CASES = Path(__file__).parents[3] / "shared" / "cases" / "cases.jsonl"
KINDS = ("pair_integrity", "message_shape")
MARK = {"cache_control": {"type": "ephemeral"}}


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A report, modelled.

    Attributes:
        id: of the case.
        messages: the history; every call of it is replayed.
        faulty: the policy as reported.
        mended: the policy as it should be.
        found: rule -> how many of the requests break it.
        what: what the finding says, in part.
        provider: whose rules.
        tools: definitions that are sent.
    """

    id: str
    messages: tuple[dict[str, Any], ...]
    faulty: Callable[..., Any]
    mended: Callable[..., Any]
    found: dict[str, int]
    what: str
    provider: str = "openai"
    tools: tuple[dict[str, Any], ...] = (tool(),)


def judged(report, policy):
    transcript = Transcript(name=report.id, messages=report.messages, tools=report.tools)
    return Wellformed(report.provider).judge(case_of(replayed(policy, transcript)))


def everything(messages):
    return messages


def whole_rounds(messages, last):
    """Keep the newest messages, and nothing of a round that is not whole; and the task."""
    start = max(len(messages) - last, 0)
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    task = [m for m in messages[:start] if m["role"] == "user"][-1:]
    kept = messages[start:]
    return kept if any(m["role"] == "user" for m in kept) else [*task, *kept]


ONE_ROUND = (
    system("You answer for an airline."),
    user("When does FT88 leave?"),
    calling(call("q1", flight="FT88")),
    result("FT88 leaves at 11:05 from gate 4.", "q1"),
    assistant("At 11:05."),
    user("And FT89?"),
)
PAIR_01 = Reported(
    id="pair-01",  # results at the end are taken out, and put back only where it had to trim
    messages=ONE_ROUND,
    faulty=lambda messages: messages[:-1] if messages[-1]["role"] == "tool" else messages,
    mended=everything,
    found={"unanswered-call": 1},
    what="no result follows for q1",
)

TWO_ROUNDS = (
    user("Is order 12 like order 13?"),
    calling(call("old", order=12)),
    result("order 12: two chairs", "old"),
    calling(call("new", order=13)),
    result("order 13: two tables", "new"),
    assistant("No."),
    user("What do they share?"),
)


def cut_at_any_match(messages):
    """Cut before the newest call, and keep a result that a call before the cut had."""
    cut = [i for i, m in enumerate(messages) if "tool_calls" in m][-1:]
    if not cut or len(messages) < 7:
        return messages
    old = [m for m in messages[: cut[0]] if m["role"] == "tool"]
    return [messages[cut[0]], *old, *messages[cut[0] + 1 :]]


PAIR_02 = Reported(
    id="pair-02",  # one result of the run has its call, so that the cut is taken for safe
    messages=TWO_ROUNDS,
    faulty=cut_at_any_match,
    mended=lambda messages: whole_rounds(messages, 4),
    found={"orphan-result": 1},
    what="a tool result for old",
)

PAIR_04 = Reported(
    id="pair-04",  # the documented "keep the last message" also runs in the middle of a turn
    messages=(
        user("Reserve the blue room at nine."),
        calling(call("c1", room="blue")),
        result("reserved", "c1"),
        assistant("Done."),
    ),
    faulty=lambda messages: messages[-1:],
    mended=lambda messages: whole_rounds(messages, 2),
    found={"orphan-result": 1},
    what="a tool result for c1",
)

PAIR_05 = Reported(
    id="pair-05",  # the newest items of a session begin with a result
    messages=(
        user("Where is parcel 55?"),
        calling(call("p1", parcel=55)),
        result("parcel 55: in Basel", "p1"),
        assistant("In Basel."),
        user("Thanks. And 56?"),
    ),
    faulty=lambda messages: messages[-3:],
    mended=lambda messages: whole_rounds(messages, 3),
    found={"orphan-result": 1},
    what="a tool result for p1",
)

TWO_RUNS = (
    system("rules"),
    user("first?"),
    calling(call("call_a", q="x")),
    result("value a", "call_a"),
    assistant("answer a"),
    user("second?"),
    calling(call("call_b", q="y")),
    result("value b", "call_b"),
    assistant("answer b"),
    user("third?"),
)


def limited(messages, limit):
    """Keep the system message and the newest of two stored runs; strip a result that is first."""
    if len(messages) < len(TWO_RUNS):
        return messages
    *stored, question = messages
    kept = [stored[0], *stored[1:][-(limit - 1) :]]
    while kept[0]["role"] == "tool":
        kept = kept[1:]
    return [*kept, question]


def strictly_limited(messages, limit):
    if len(messages) < len(TWO_RUNS):
        return messages
    *stored, question = messages
    return [stored[0], *whole_rounds(stored[1:], limit - 1), question]


PAIR_07 = Reported(
    id="pair-07",  # behind the system message a result is never the first
    messages=TWO_RUNS,
    faulty=lambda messages: limited(messages, 3),
    mended=lambda messages: strictly_limited(messages, 3),
    found={"orphan-result": 1},
    what="a tool result for call_b",
)

PARALLEL = (
    user("Read both sheets."),
    calling(call("A", sheet=1), call("B", sheet=2)),
    result("sheet 1: 90", "A"),
    result("sheet 2: 70", "B"),
    assistant("Read."),
    user("Which is larger?"),
)


def compacted(messages, count):
    summary = user(f"[Summary of {count} messages: both sheets are read; sheet 1: 90.]")
    return [summary, *messages[count:]] if len(messages) > 5 else messages


PAIR_08 = Reported(
    id="pair-08",  # the remembered split lies between two results of one message
    messages=PARALLEL,
    faulty=lambda messages: compacted(messages, 3),
    mended=lambda messages: compacted(messages, 4),
    found={"orphan-result": 1},
    what="a tool result for B",
)


def repaired_by_adjacency(messages):
    """Give each call a message and a result of its own, as if none had followed."""
    repaired = []
    for message in messages:
        for one in message.get("tool_calls", ())[:-1]:
            repaired += [calling(one), result("[result unavailable]", one["id"])]
        last = {"tool_calls": message["tool_calls"][-1:]} if "tool_calls" in message else {}
        repaired.append({**message, **last})
    return repaired


PAIR_10 = Reported(
    id="pair-10",  # a repair that looks at neighbours only adds a result to a whole round
    messages=PARALLEL[:5],
    faulty=repaired_by_adjacency,
    mended=everything,
    found={"duplicate-result": 1},
    what="a second result for A; the first is message 2",
)

PENDING = (
    user("Drop table 7."),
    calling(call("ok_1", table=7)),
    result("the user has been asked to confirm", "ok_1"),
    assistant("Please confirm."),
    user("What is in table 8?"),
    assistant("Prices."),
    user("Confirmed."),
)


def summed_up_but_for_the_late_result(messages):
    """Sum up what came before, then hand on the confirmation when it comes."""
    if messages[-1]["content"] != "Confirmed.":
        return messages
    return [user("[Summary: table 7 is to be dropped.]"), *messages[5:6],
            result('{"confirmed": true}', "ok_1"), messages[-1]]  # fmt: skip


PAIR_11 = Reported(
    id="pair-11",  # a call that waits for a person is summed up before its result comes
    messages=PENDING,
    faulty=summed_up_but_for_the_late_result,
    mended=everything,
    found={"orphan-result": 1},
    what="a tool result for ok_1",
)

LONG_TURN = (
    user("Look at the pods."),
    calling(call("a1", ns="web")),
    result("one of three is down", "a1"),
    calling(call("a2", pod="web-1")),
    result("out of memory", "a2"),
    assistant("web-1 ran out of memory."),
)


def gemini_window(messages):
    return messages[-4:]


SHAPE_01 = Reported(
    id="shape-01",  # whole pairs, but the assistant begins
    messages=LONG_TURN,
    faulty=gemini_window,
    mended=lambda messages: whole_rounds(messages, 4),
    found={"first-role": 1},
    what="the first message after the instructions is the assistant's",
    provider="gemini",
)


def cut_in_units(text, units):
    """Cut as a program does that counts UTF-16 code units."""
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "surrogatepass") + "…"


EMOJI = "ok 🟢 then ok 🚀 then ok"
SHAPE_02 = Reported(
    id="shape-02",  # a cut inside an emoji
    messages=(user("Deploy."), calling(call()), result(EMOJI), assistant("Deployed.")),
    faulty=lambda messages: [
        {**m, "content": cut_in_units(m["content"], 4)} if m["role"] == "tool" else m
        for m in messages
    ],
    mended=lambda messages: [
        {**m, "content": cut_in_units(m["content"], 5)} if m["role"] == "tool" else m
        for m in messages
    ],
    found={"lone-surrogate": 1},
    what="messages[2].content has half a surrogate pair at character 3",
    provider="anthropic",
)


def cleared(messages, note):
    """Empty results of earlier turns."""
    turn = max(i for i, m in enumerate(messages) if m["role"] == "user")
    parts = [{"type": "text", "text": note}]
    return [
        {**m, "content": parts} if m["role"] == "tool" and i < turn else m
        for i, m in enumerate(messages)
    ]


SHAPE_04 = Reported(
    id="shape-04",  # clearing a result to no text at all
    messages=(
        user("List the tickets."),
        calling(call()),
        {**result(""), "content": [{"type": "text", "text": "12 tickets are open"}]},
        assistant("12."),
        user("And now?"),
    ),
    faulty=lambda messages: cleared(messages, ""),
    mended=lambda messages: cleared(messages, "[cleared]"),
    found={"empty-text": 1},
    what="part 0 of content is empty text",
    provider="anthropic",
)

THOUGHT = {"type": "thinking", "thinking": "Code 137 means no memory.", "signature": "sig-A"}
THOUGHTFUL = {**assistant("It ran out of memory."), "thinking_blocks": [THOUGHT]}


def thoughts_as(blocks):
    return lambda messages: [
        {**m, "thinking_blocks": blocks} if "thinking_blocks" in m else m for m in messages
    ]


SHAPE_05 = Reported(
    id="shape-05",  # the text of a signed thought is cut, its signature kept
    messages=(user("Why did it fail?"), THOUGHTFUL, user("Mend it.")),
    faulty=thoughts_as([{**THOUGHT, "thinking": THOUGHT["thinking"][:8]}]),
    mended=thoughts_as([]),
    found={"thinking-modified": 1},
    what="block 0 of its thoughts is not one the model sent",
    provider="anthropic",
)


def marked(messages, last):
    """Mark the instructions and the newest messages for the cache, as the tools are."""
    newest = len(messages) - last
    return [
        {**m, **MARK} if m["role"] == "system" or i >= newest else m for i, m in enumerate(messages)
    ]


SHAPE_07 = Reported(
    id="shape-07",  # five marks, where four are taken
    messages=(system("rules"), user("a"), assistant("b"), user("c"), assistant("d"), user("e")),
    tools=({**tool(), **MARK},),
    faulty=lambda messages: marked(messages, 3),
    mended=lambda messages: marked(messages, 2),
    found={"cache-marks": 2},
    what="5 cache marks over tools, instructions and messages",
    provider="anthropic",
)

CLAUSES = "Sum up this contract clause by clause, with every date, party and penalty, as a table."
SHAPE_08 = Reported(
    id="shape-08",  # the newest message alone is over the budget, so that nothing is sent
    messages=(user(CLAUSES),),
    faulty=lambda messages: [m for m in messages if len(m["content"]) <= 60],
    mended=lambda messages: [{**m, "content": m["content"][:50] + "…"} for m in messages],
    found={"empty-request": 1},
    what="there is no message",
)

REPORTS = [value for value in list(globals().values()) if isinstance(value, Reported)]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.id)
def test_case(report):
    judgement = judged(report, report.faulty)
    counts = {
        finding.rule.partition(".")[2]: int(finding.measured.split()[0])
        for finding in judgement.findings
    }
    assert counts == report.found
    assert report.what in judgement.findings[0].what
    assert judged(report, report.mended).verdict == "pass"


@pytest.mark.parametrize(
    ("limit", "orphans"), [(3, ["call_b"]), (4, []), (5, []), (6, []), (7, ["call_a"])]
)
def test_case_pair_07_at_every_limit(limit, orphans):
    judgement = judged(PAIR_07, lambda messages: limited(messages, limit))
    named = [finding.what.split()[4].rstrip(",") for finding in judgement.findings]
    assert named == orphans
    mended = judged(PAIR_07, lambda messages: strictly_limited(messages, limit))
    assert mended.verdict == "pass"


@pytest.mark.parametrize("count", range(6))
def test_case_pair_08_at_every_split(count):
    judgement = judged(PAIR_08, lambda messages: compacted(messages, count))
    assert (judgement.verdict == "pass") == (count in (0, 1, 4, 5))


@pytest.mark.parametrize("units", range(1, 18))
def test_case_shape_02_at_every_cut(units):
    policy = [user(cut_in_units(EMOJI, units))]
    broken = Wellformed("anthropic").judge(case_of(replayed(lambda _: policy)))
    rules = {finding.rule for finding in broken.findings}
    halved = units in (4, 15)
    assert ("ctx_wellformed.lone-surrogate" in rules) == halved


@pytest.mark.skipif(not CASES.is_file(), reason="the list of reported cases is not beside us")
def test_every_reported_case_of_these_kinds_is_modelled():
    rows = [json.loads(line) for line in CASES.read_text().splitlines()]
    assert {row["id"] for row in rows if row["kind"] in KINDS} == {each.id for each in REPORTS}
