"""Real reports of policies that reduce badly: the faulty one is found, a mended one passes.

Each case restates a public report in a few lines: the situation, what the policy did, and what a
mended policy does instead. Both go through the check a user would use.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.guards import guard
from pytest_ctxguard.checks.honest import Honest
from pytest_ctxguard.checks.repeats import NoRepeats
from pytest_ctxguard.checks.summariser_faults import SummariserFaults
from pytest_ctxguard.checks.summary import Summarising
from pytest_ctxguard.checks.token_cost import TokenCost
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.replay.again import repeater
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import digest
from pytest_ctxguard.testing import ScriptedSummariser
from tests.factories import (
    LetterCounter,
    assistant,
    call,
    calling,
    case_of,
    result,
    session,
    system,
    tool,
    user,
)

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "cases.jsonl"
KINDS = {
    "budget_overflow", "compaction_loop", "compaction_failure", "mutation", "cost_growth",
    "early_stop",
}  # fmt: skip
ELSEWHERE = {"stop-01", "stop-02"}  # about what the agent does next: the agent guard's


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A report, as a check sees it.

    ``rule`` and ``says`` are the finding that the faulty policy gets: its id, and texts that
    stand in it.
    """

    messages: tuple
    check: object
    faulty: object
    mended: object
    rule: str
    says: tuple
    budget: int | None = None
    mended_budget: int | None = None
    summariser: object = None
    baseline: int | None = None


CASES: dict[str, Reported] = {}


def text(tokens):
    """Return a text of that many tokens, a letter each."""
    return "x" * tokens


# The room that the answer needs is not taken off the window: 12,970 + 2,048 > 15,000.
def fills_the_window(messages, count):
    return list(messages) if count(messages) <= 15_000 else [messages[-1]]


def leaves_room(messages, count):
    return list(messages) if count(messages) + 2_048 <= 15_000 else [messages[-1]]


CASES["budget-01"] = Reported(
    messages=(user(text(6_000)), assistant("Yes."), user(text(6_965))),
    check=Budget(15_000 - 2_048),
    faulty=fills_the_window,
    mended=leaves_room,
    rule="ctx_budget.over",
    says=("12970 tokens at the largest", "12952 tokens"),  # 18 too many
)


# Instructions and retrieved texts alone exceed the limit: no cut of the chat can help.
def drops_the_chat(messages, budget, count):
    if count(messages) <= budget:
        return list(messages)
    return [*messages[:2], messages[-1]]


CASES["budget-02"] = Reported(
    messages=(system(text(899)), system(text(2_400)), user("first"), assistant("Yes."),
              user(text(12))),
    check=Honest(),
    faulty=drops_the_chat,
    mended=drops_the_chat,
    budget=3_000,
    mended_budget=3_312,
    rule="ctx_honest.infeasible",
    says=("3312 tokens without any history: 3300 of instructions", "3000 tokens",
          "the smallest budget that works here is 3312"),
)  # fmt: skip


# Inside one long turn the cut finds no user message to begin at, and gives up.
def looks_for_a_user_message(messages, budget, count):
    if count(messages) <= budget:
        return list(messages)
    starts = [i for i, m in enumerate(messages) if i and m["role"] == "user"]
    return list(messages[starts[-1] :]) if starts else list(messages)


TOOL_LOOP = [user("Review this change")]
for number in range(1, 4):
    TOOL_LOOP += [
        calling(call(str(number), "get", n=number)),
        result(f"data {number}", str(number)),
    ]
CASES["budget-04"] = Reported(
    messages=tuple(TOOL_LOOP),
    check=Honest(announce="never"),
    faulty=looks_for_a_user_message,
    mended=lambda messages: [messages[0], *SlidingWindow(last=3)(messages[1:])],
    budget=60,
    rule="ctx_honest.idle",
    says=("0 of 4 requests",),
)


# It shortens a copy, prints what it saved, and sends what it was given.
def only_says_so(messages):
    shortened = [{**m, "content": m["content"][:500]} if m["role"] == "tool" else m
                 for m in messages]  # fmt: skip
    saved = len(messages[-1].get("content") or "") - len(shortened[-1].get("content") or "")
    assert saved in (0, 8_500)  # what it prints
    return list(messages)


def shortens(messages):
    return [
        {**m, "content": m["content"][:400] + " [shortened]"} if m["role"] == "tool" else m
        for m in messages
    ]


CASES["budget-05"] = Reported(
    messages=(user("load the API file"), calling(call("f1", "load", f="api.json")),
              result(text(9_000), "f1")),
    check=Budget(600),
    faulty=only_says_so,
    mended=shortens,
    rule="ctx_budget.over",
    says=("9040 tokens at the largest",),
)  # fmt: skip


# Every step sends everything again: 14,000 tokens for ten steps of 200, where a window needs 9,800.
STEPS = [system(text(250)), user(text(249))]
for _ in range(9):
    STEPS += [assistant(text(150)), user(text(50))]
CASES["cost-01"] = Reported(
    messages=tuple(STEPS),
    check=TokenCost(max_increase=0.05),
    faulty=list,
    mended=lambda messages: [*messages[:2], *messages[2:][-6:]],
    rule="ctx_token_cost.dearer",
    says=("14,000 input tokens billed", "9,800 in the baseline"),
    baseline=9_800,
)


# The same list of tasks is appended to every user message: 15 copies, 14 of them for nothing.
TASKS = "<tasks>" + "; ".join(f"task {n}: open" for n in range(40)) + "</tasks>"


def reminds_each_time(messages):
    return [
        {**m, "content": m["content"] + "\n" + TASKS} if m["role"] == "user" else m
        for m in messages
    ]


def reminds_once(messages):
    return [*messages[:-1], reminds_each_time(messages[-1:])[0]]


CASES["cost-02"] = Reported(
    messages=tuple(m for n in range(15) for m in (user(f"go {n}"), assistant("ok")))[:-1],
    check=NoRepeats(),
    faulty=reminds_each_time,
    mended=reminds_once,
    rule="ctx_no_repeats.repeated",
    says=("stands 15 times in one request", f"{14 * len(TASKS)} tokens of 1 blocks"),
)


# The first message alone passes the trigger, and is always kept: it condenses at every step.
def keeps_the_first(messages, budget, *, count, summarise):
    if count(messages) <= budget:
        return list(messages)
    return [messages[0], user(summarise(messages[1:-1])), messages[-1]]


class CapsTheFirst:
    """Shortens the first message once; then the rest fits."""

    def __call__(self, messages, budget, *, count, summarise):
        first = {**messages[0], "content": messages[0]["content"][:300] + " [shortened]"}
        sent = [first, *messages[1:]]
        if count(sent) <= budget:
            return sent
        return [first, user(summarise(sent[1:-1])), sent[-1]]


PASTED = [user(text(1_200)), assistant("I will start."), user("go on")]
for _ in range(4):
    PASTED += [assistant("done, next"), user("go on")]
PASTED += [assistant(text(700)), user("go on")]
CASES["loop-01"] = Reported(
    messages=tuple(PASTED),
    check=Summarising(),
    faulty=keeps_the_first,
    mended=CapsTheFirst,
    rule="ctx_summary.loop",
    says=("asked at 6 calls in a row", "never below the budget of 1000"),
    budget=1_000,
    summariser=ScriptedSummariser(["ok"]),
)


# A condensation that forgets nothing counts as one, so each message asks for the next.
def condenses_nothing(messages, *, summarise):
    summarise(messages)
    return list(messages)


class StopsAfterNoProgress:
    """Does not ask again once a summary saved nothing."""

    def __init__(self):
        self.useless = False

    def __call__(self, messages, *, summarise):
        if not self.useless:
            summarise(messages)
            self.useless = True
        return list(messages)


EVENTS = tuple(user("a") if n % 2 == 0 else assistant("b") for n in range(15))
CASES["loop-02"] = Reported(
    messages=EVENTS,
    check=Summarising(),
    faulty=condenses_nothing,
    mended=StopsAfterNoProgress,
    rule="ctx_summary.loop",
    says=("asked at 8 calls in a row", "8 summariser calls"),
)


# The summary is longer than what it stands for, and is taken: 3,087 tokens become 3,237.
def takes_any(messages, *, summarise):
    if len(messages) < 3:
        return list(messages)
    return [user(summarise(messages[:-1])), messages[-1]]


def takes_less(messages, *, count, summarise):
    sent = takes_any(messages, summarise=summarise)
    return sent if count(sent) < count(messages) else list(messages)


CASES["loop-04"] = Reported(
    messages=(user(text(3_000)), assistant(text(76)), user(text(10))),
    check=Summarising(),
    faulty=takes_any,
    mended=takes_less,
    rule="ctx_summary.grew",
    says=("3087 tokens before, 3237 after",),
    summariser=lambda shown: text(3_226),
)


# It trims down to the very cap it starts at, so each further message trims again: 32 of 32.
class TrimsAt:
    """Summarises above a number of messages, down to another."""

    def __init__(self, trigger, target):
        self.trigger, self.target, self.upto, self.summary = trigger, target, 0, None

    def __call__(self, messages, *, summarise):
        if len(messages) - self.upto > self.trigger:
            upto = len(messages) - self.target
            self.summary, self.upto = summarise(messages[self.upto : upto]), upto
        head = [user(self.summary)] if self.summary else []
        return [*head, *messages[self.upto :]]


CASES["loop-05"] = Reported(
    messages=(user("Go."), *(assistant("a step of some length") for _ in range(111)), user("?")),
    check=Summarising(),
    faulty=lambda: TrimsAt(80, 80),
    mended=lambda: TrimsAt(96, 80),
    rule="ctx_summary.loop",
    says=("asked at 32 calls in a row",),
    budget=10_000,
    summariser=ScriptedSummariser(["ok"]),
)


# All that is to be summarised goes into one request: 620,332 tokens into a window of 272,000.
def all_at_once(messages, *, summarise):
    if len(messages) < 4:
        return list(messages)
    return [user(summarise(messages[:-1])), messages[-1]]


def in_parts(messages, *, summarise):
    if len(messages) < 4:
        return list(messages)
    return [user(" ".join(summarise([m]) for m in messages[:-1])), messages[-1]]


CASES["fail-01"] = Reported(
    messages=(user(text(210_000)), assistant(text(200_000)), user(text(210_331)),
              assistant("Yes."), user("Go on.")),
    check=Summarising(window=272_000),
    faulty=lambda messages, *, summarise: all_at_once(
        [m for m in messages if m["content"] != "Yes."], summarise=summarise
    ),
    mended=in_parts,
    rule="ctx_summary.too-long",
    says=("620332 tokens shown", "272000 tokens"),
)  # fmt: skip


# The summary is asked for with the agent's tools; the model calls one, and gives no text.
def with_tools(messages, *, summarise, tools):
    if len(messages) < 3:
        return list(messages)
    return [user(summarise(messages[:-1], tools=tools) or "(none)"), messages[-1]]


def without_tools(messages, *, summarise):
    if len(messages) < 3:
        return list(messages)
    summary = summarise(messages[:-1])
    return [user(summary), messages[-1]] if summary else list(messages)


CHAT = (user(text(200)), assistant(text(200)), user("More?"))
CASES["fail-02"] = Reported(
    messages=CHAT,
    check=Summarising(),
    faulty=with_tools,
    mended=without_tools,
    rule="ctx_summary.tools-offered",
    says=("1 tools", "none"),
)
CASES["fail-02 answered by a call"] = Reported(
    messages=CHAT,
    check=SummariserFaults(["calls-a-tool"]),
    faulty=with_tools,
    mended=without_tools,
    rule="ctx_summariser_faults.lost",
    says=("2 messages cut, 0 summaries made",),
)


# The output limit of the summary follows the history: 339,835, where the model takes 65,536.
def as_long_as_the_history(messages, *, count, summarise):
    if len(messages) < 3:
        return list(messages)
    return [user(summarise(messages[:-1], max_tokens=count(messages))), messages[-1]]


def a_fixed_limit(messages, *, summarise):
    if len(messages) < 3:
        return list(messages)
    return [user(summarise(messages[:-1], max_tokens=4_096)), messages[-1]]


CASES["fail-04"] = Reported(
    messages=(user(text(339_829)), assistant("Yes."), user("x")),
    check=Summarising(max_output=65_536),
    faulty=as_long_as_the_history,
    mended=a_fixed_limit,
    rule="ctx_summary.max-output",
    says=("max_tokens 339835", "1 to 65536"),
)


# What is cut to fit is cut in the caller's own messages.
PARCELS = (
    user("Ship to 12 Elm Road.\nRing twice, or leave it with the neighbour.\n"),
    user("A second parcel, same street.\nFragile: two lamps and a clock, keep upright.\n"),
)


def in_place(messages):
    for message in messages:
        message["content"] = message["content"].split("\n")[0]
    return list(messages)


def on_copies(messages):
    return [{**m, "content": m["content"].split("\n")[0]} for m in messages]


class Mutation:
    """The guard of every replay, as a check."""

    def judge(self, case):
        return guard(case)


CASES["mutate-01"] = Reported(
    messages=PARCELS,
    check=Mutation(),
    faulty=in_place,
    mended=on_copies,
    rule="ctx_replay.mutated",
    says=("message 0, message 1", "1 requests with a changed history"),
)

# A short chat comes back as the caller's own list, which the caller then clears.
CASES["mutate-02"] = Reported(
    messages=(user("only message"), *(assistant("more") for _ in range(12)), user("Now?")),
    check=Honest(),
    faulty=lambda messages: messages if len(messages) <= 10 else messages[-10:],
    mended=lambda messages: list(messages[-10:]),
    rule="ctx_honest.same-list",
    says=("10 requests",),
)


def judged(reported, policy, budget):
    transcript = session(messages=reported.messages, facts=(), tools=tools_of(reported))
    plan = Plan(
        transcript=transcript,
        policy=policy,
        counter=LetterCounter(),
        budget=budget,
        summariser=reported.summariser or ScriptedSummariser(["in short"]),
    )
    old = Metric(
        value=reported.baseline or 0,
        fingerprint={
            "transcript": digest([transcript.messages, transcript.tools]),
            "counter": "letters",
        },
    )
    recorded = {"billed_input_tokens": old} if reported.baseline else {}
    again = repeater(plan)
    case = case_of(
        run(plan),
        recorded=lambda: recorded,
        again=again,
    )
    return reported.check.judge(case)


def tools_of(reported):
    return (tool(),) if reported.faulty is with_tools else ()


@pytest.mark.parametrize("reported", CASES.values(), ids=CASES)
def test_the_faulty_policy_is_found(reported):
    found = {f.rule: f for f in judged(reported, reported.faulty, reported.budget).findings}
    assert reported.rule in found
    finding = found[reported.rule]
    said = "\n".join(
        [finding.what, finding.where, finding.measured, finding.allowed, finding.remedy]
    )
    for words in reported.says:
        assert words in said


@pytest.mark.parametrize("reported", CASES.values(), ids=CASES)
def test_a_mended_policy_passes_the_same_check(reported):
    budget = reported.mended_budget or reported.budget
    assert judged(reported, reported.mended, budget).findings == ()


def test_the_cost_of_each_step_is_there_to_read():
    transcript = session(messages=CASES["cost-01"].messages, facts=(), tools=())
    replay = run(Plan(transcript=transcript, policy=list, counter=LetterCounter()))
    assert replay.tokens.by_call == (500, 700, 900, 1100, 1300, 1500, 1700, 1900, 2100, 2300)
    assert Decimal(replay.tokens.billed) == 14_000


@pytest.mark.skipif(not SHARED.is_file(), reason="the reports' list, ../shared/cases, is not here")
def test_every_report_of_these_kinds_is_here_or_said_to_be_elsewhere():
    rows = map(json.loads, SHARED.read_text(encoding="utf-8").splitlines())
    wanted = {row["id"] for row in rows if row["kind"] in KINDS}
    assert wanted == {name.split()[0] for name in CASES} | ELSEWHERE
