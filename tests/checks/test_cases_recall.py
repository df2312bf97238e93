"""Real reports of policies that forget: what was lost is named, a mended policy passes.

Each case restates a public report: one fact is planted for each thing the report misses, and the
checks a user would use say which are still sent, which the summariser was shown, and what is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.checks.carried import CarriedFact
from pytest_ctxguard.checks.summariser_faults import SummariserFaults
from pytest_ctxguard.checks.summary import Summarising
from pytest_ctxguard.checks.wellformed import Wellformed
from pytest_ctxguard.policies.summarisers import ScriptedSummariser
from pytest_ctxguard.replay.again import repeater
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.model import Fact
from tests.factories import (
    LetterCounter,
    assistant,
    call,
    calling,
    case_of,
    result,
    session,
    system,
    user,
)

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "cases.jsonl"


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A report: what was said, what the policy did, and what is still there afterwards.

    ``recall`` is fact text -> whether the faulty policy's last request carries it; ``checks``
    are the promises it breaks, each with the rule that says so.
    """

    messages: tuple[Any, ...]
    recall: dict[str, bool]
    faulty: Callable[..., Any]
    mended: Callable[..., Any]
    checks: dict[str, Any] = field(default_factory=dict)
    budget: int | None = None
    summariser: Callable[..., Any] | None = None


def summaries(*texts: str) -> ScriptedSummariser:
    """Return a summariser that gives these texts."""
    return ScriptedSummariser(texts)


CASES: dict[str, Reported] = {}


# What lies between the cut and the end was neither summarised nor kept.
def summarises_a_part_and_drops_all(messages, *, summarise):
    if len(messages) < 10:
        return list(messages)
    return [messages[0], user(f"[summary] {summarise(messages[2:6])}")]


def keeps_what_it_did_not_summarise(messages, *, summarise):
    if len(messages) < 10:
        return list(messages)
    return [*messages[:2], user(f"[summary] {summarise(messages[2:6])}"), *messages[6:]]


MIGRATION: tuple[Any, ...] = (system("You migrate databases."), user("Migrate orders."))
for number, (command, shows) in enumerate(
    [("ls", "schema.sql"), ("cat .env", "DB_PORT=5433"), ("psql", "lock held by pid 8812"),
     ("date", "02:10")], 1,
):  # fmt: skip
    MIGRATION += (calling(call(f"t{number}", "sh", c=command)), result(shows, f"t{number}"))
CASES["recall-01"] = Reported(
    messages=MIGRATION,
    recall={"DB_PORT=5433": True, "pid 8812": False, "02:10": False},
    faulty=summarises_a_part_and_drops_all,
    mended=keeps_what_it_did_not_summarise,
    checks={"ctx_summary.fact-not-shown": Summarising()},
    summariser=summaries("listed files; read .env: DB_PORT=5433"),
)


# The newest n messages, the instructions not among them.
RULES = "Always answer in German. Never quote prices."
CASES["recall-02"] = Reported(
    messages=(system(RULES), user("Hallo"), assistant("Hallo!"), user("Was ist X200?"),
              assistant("Ein Router."), user("Und Y7?")),
    recall={RULES: False},
    faulty=lambda messages: list(messages[-3:]),
    mended=lambda messages: [*messages[:1], *messages[1:][-3:]],
    checks={"ctx_carried.lost": CarriedFact(RULES, at="every")},
)  # fmt: skip


# The error's text is kept as if it were the summary.
def keeps_the_error(messages, *, summarise):
    if len(messages) < 5:
        return list(messages)
    try:
        summary = summarise(messages[:-1])
    except Exception as error:
        summary = f"Error generating summary: {error}"
    return [user(f"Here is a summary of what was said:\n\n{summary}"), messages[-1]]


def keeps_the_history(messages, *, summarise):
    if len(messages) < 5:
        return list(messages)
    try:
        summary = summarise(messages[:-1])
    except Exception:
        return list(messages)
    return [user(summary), messages[-1]] if summary else list(messages)


def overloaded(shown):
    raise RuntimeError("429 Too Many Requests")


CASES["recall-04"] = Reported(
    messages=(user("Deploy on Friday 02:00; contact is Mira."), assistant("Noted."),
              user("Use region eu-west-3."), assistant("Ok."), user("Start.")),
    recall={"Friday 02:00": False, "Mira": False, "eu-west-3": False},
    faulty=keeps_the_error,
    mended=keeps_the_history,
    checks={"ctx_summariser_faults.error-as-summary": SummariserFaults(["raises", "times-out"])},
    summariser=overloaded,
)  # fmt: skip


# Half a sentence is kept as the summary: nobody looked at why the model stopped.
def takes_what_it_gets(messages, *, summarise):
    if len(messages) < 3:
        return list(messages)
    return [user(f"Summary: {summarise(messages[:-1])}"), messages[-1]]


def wants_a_whole_sentence(messages, *, summarise):
    if len(messages) < 3:
        return list(messages)
    summary = summarise(messages[:-1])
    return [user(summary), messages[-1]] if summary.endswith(".") else list(messages)


CASES["recall-05"] = Reported(
    messages=(user("Rules: port 5433, owner Mira, never touch table audit_log."),
              assistant("ok"), user("go on")),
    recall={"5433": True, "Mira": True, "audit_log": False},
    faulty=takes_what_it_gets,
    mended=wants_a_whole_sentence,
    summariser=summaries(
        "the database listens on port 5433, the owner is Mira, and the agent must ne"
    ),
)  # fmt: skip


# The newest request goes into the summary with the rest, and what is finished is not said to be.
def by_topic(messages, *, summarise):
    return [user(f"[summary] {summarise(messages)}")]


def in_order(messages, *, summarise):
    return [user(f"[summary] {summarise(messages[:-1])} Foo is now Bar: done."), messages[-1]]


CASES["recall-07"] = Reported(
    messages=(user("Rename class Foo to Bar."), assistant("Done: Foo is now Bar in 6 files."),
              user("Now add a --json flag to the CLI.")),
    recall={"Foo is now Bar": False},
    faulty=by_topic,
    mended=in_order,
    checks={"ctx_wellformed.current-task": Wellformed()},
    summariser=summaries("The user asked to rename class Foo to Bar."),
)  # fmt: skip


# The store keeps what was said, and not what the tools were asked and answered.
def texts_only(messages):
    return [m for m in messages if m["role"] != "tool" and not m.get("tool_calls")]


CASES["recall-08"] = Reported(
    messages=(user("When does the van arrive?"), calling(call("e1", "eta", van=3)),
              result("ETA 14:20, driver Kofi", "e1"), assistant("At 14:20."),
              user("Who drives?")),
    recall={"driver Kofi": False},
    faulty=texts_only,
    mended=list,
    checks={"ctx_carried.lost": CarriedFact("driver Kofi")},
)  # fmt: skip


# The summariser is shown the first 2,000 characters of each result; the verdict stands at the end.
def shows_the_head(messages, *, summarise):
    if len(messages) < 4:
        return list(messages)
    return [messages[0], user(summarise([user(full_text(m)[:2_000]) for m in messages[:-1]])),
            messages[-1]]  # fmt: skip


def shows_it_in_parts(messages, *, summarise):
    if len(messages) < 4:
        return list(messages)
    whole = "\n".join(map(full_text, messages[:-1]))
    parts = [whole[start : start + 2_000] for start in range(0, len(whole), 1_900)]
    return [messages[0], user(" ".join(summarise(part) for part in parts)), messages[-1]]


VERDICT = "FAILED test_login[safari]"
REPORT = "collected 258 items\n" + "tests/test_x.py ........\n" * 400
CASES["recall-10"] = Reported(
    messages=(user("run the tests"), calling(call("p1", "pytest")),
              result(f"{REPORT}RESULT: 3 failed, 255 passed - {VERDICT}", "p1"),
              assistant("Three failed."), user("Which one?")),
    recall={VERDICT: False},
    faulty=shows_the_head,
    mended=shows_it_in_parts,
    checks={"ctx_summary.fact-not-shown": Summarising()},
    summariser=lambda shown: (shown if isinstance(shown, str) else full_text(shown[-1]))[-60:],
)  # fmt: skip


def facts_of(reported: Reported) -> tuple[Fact, ...]:
    """Return one fact for each text of the report, planted where it first stands."""
    return tuple(
        Fact(
            name=value,
            value=value,
            kind="identifier",
            planted_at=next(i for i, m in enumerate(reported.messages) if value in full_text(m)),
            wordings=("What was it?",),
            shape=".+",
        )
        for value in reported.recall
    )


def case_under(reported: Reported, policy: Callable[..., Any]) -> Any:
    transcript = session(messages=reported.messages, facts=facts_of(reported), tools=())
    plan = Plan(
        transcript=transcript,
        policy=policy,
        counter=LetterCounter(),
        budget=reported.budget,
        summariser=reported.summariser,
    )
    again = repeater(plan)
    return case_of(run(plan), again=again)


def last_request(case: Any) -> str:
    return "\n".join(map(full_text, case.replay.final.request.messages))


@pytest.mark.parametrize("reported", CASES.values(), ids=CASES)
def test_what_the_faulty_policy_still_sends_is_what_the_report_says(reported):
    case = case_under(reported, reported.faulty)
    sent = last_request(case)
    seen = {fact.value: fact.mentions(sent) for fact in case.replay.transcript.facts}
    assert seen == reported.recall
    for value, there in reported.recall.items():
        lost = CarriedFact(value).judge(case).findings
        assert [f.rule for f in lost] == ([] if there else ["ctx_carried.lost"])


@pytest.mark.parametrize("reported", CASES.values(), ids=CASES)
def test_the_checks_name_what_the_faulty_policy_does(reported):
    case = case_under(reported, reported.faulty)
    for rule, check in reported.checks.items():
        assert rule in [finding.rule for finding in check.judge(case).findings]


@pytest.mark.parametrize("reported", CASES.values(), ids=CASES)
def test_a_mended_policy_keeps_the_same_promises(reported):
    case = case_under(reported, reported.mended)
    carried = (CarriedFact(value) for value in reported.recall)
    for check in (*carried, *reported.checks.values()):
        assert check.judge(case).findings == ()


def test_recall_08_a_round_trip_through_the_store_begins_with_all_that_was_sent():
    reported = CASES["recall-08"]
    kept = case_under(reported, reported.mended).replay.steps
    lost = case_under(reported, reported.faulty).replay.steps
    first, second = (step.request.messages for step in kept[-2:])
    assert second[: len(first)] == first
    assert len(lost[-1].request.messages) < len(kept[-1].request.messages)


@pytest.mark.skipif(not SHARED.is_file(), reason="the reports' list, ../shared/cases, is not here")
def test_every_report_about_recall_is_here():
    rows = map(json.loads, SHARED.read_text(encoding="utf-8").splitlines())
    wanted = {row["id"] for row in rows if row["kind"] == "recall"}
    assert wanted == set(CASES)
