"""Runs as values, for the tests of everything that renders one."""

from __future__ import annotations

from typing import Any

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.report.figures import CellFigures, FactFigures, RecallFigures, ReplayFigures
from pytest_ctxguard.report.run import Change, Subject, TestResult

HOSTILE = (
    "a|b `c` <script>alert(1)</script> @octocat #12 **x** [l](http://e.vil) \x1b[31m\ud800\n~z"
)


def finding(rule: str = "ctx_carried.lost", **changes: Any) -> Finding:
    parts = {
        "what": "the policy dropped 'shard' ('pay-core-07')",
        "where": "transcript incident-40, policy SlidingWindow, wording 1",
        "measured": "carried in 0 of 6 requests",
        "allowed": "carried in all of them",
        "why": "the model cannot answer from what it is not sent",
        "remedy": "pin its text",
    }
    return Finding(rule=rule, **{**parts, **changes})


def judgement(
    promise: str = "budget",
    *findings: Finding,
    summary: str = "fine",
    state: Any = "",
    **more: Any,
) -> Judgement:
    states = {promise: state} if state else {}
    return Judgement(promise, summary, findings, states=states, **more)


def replay(
    *judgements: Judgement,
    policy: str = "fit",
    name: str = "incident-40",
    label: str = "",
    **figures: Any,
) -> Subject:
    made = {
        "budget": None,
        "counter": "qwen2.5",
        "approximate": "",
        "traffic": False,
        "calls": 40,
        "billed": 168_550,
        "final": 9_816,
        **figures,
    }
    return Subject(
        kind="replay",
        name=name,
        policy=policy,
        label=label,
        judgements=judgements,
        replay=ReplayFigures(**made),
    )


def fact(name: str = "shard", carried: int = 6, of: int = 6, **changes: Any) -> FactFigures:
    return FactFigures(name=name, carried=carried, of=of, **{"outcomes": {}, **changes})


def cell(**changes: Any) -> CellFigures:
    made = {
        "name": "records=25:depth=0.0",
        "title": "25 records, depth 0",
        "records": 25,
        "depth": 0.0,
        "planned": 32,
        "of": 32,
        "hits": 27,
        "low": 0.6817,
        "high": 0.9313,
        "outcomes": {"hit": 27, "neighbour": 4, "other": 1},
        "carried": 32,
        "tokens": 1384,
    }
    return CellFigures(**{**made, **changes})


def recall(*judgements: Judgement, cells: tuple[CellFigures, ...], **changes: Any) -> Subject:
    made = {
        "haystack": "register",
        "population": "register haystacks",
        "seed": 3,
        "policy": "fit",
        "label": "",
        "budget": None,
        "changed": 0,
        "prompt_tokens": 44_288,
        **changes,
    }
    return Subject(
        kind="recall",
        name="register",
        policy=made["policy"],
        label=made["label"],
        judgements=judgements,
        recall=RecallFigures(cells=cells, **made),
    )


def result(nodeid: str = "test_a.py::test_a", *subjects: Subject, **changes: Any) -> TestResult:
    verdicts = [j.verdict for subject in subjects for j in subject.judgements]
    worst = next((each for each in ("fail", "inconclusive") if each in verdicts), "pass")
    file, _, key = nodeid.partition("::")
    made = {
        "file": file,
        "line": 7,
        "baseline": file.replace(".py", ".ctxguard.json"),
        "key": key,
        "verdict": worst,
        "outcome": "passed" if worst == "pass" else "failed",
        "rerun": f"pytest --ctxguard {nodeid}",
    }
    return TestResult(nodeid=nodeid, subjects=subjects, **{**made, **changes})


def metric(value: int, **changes: Any) -> Metric:
    return Metric(value, {"counter": "qwen2.5"}, **changes)


def change(
    state: Any, was: int | None, now: int | None, *, nodeid: str = "test_a.py::test_a", **more: Any
) -> Change:
    return Change(
        nodeid=nodeid,
        label=more.pop("label", ""),
        metric=more.pop("metric", "billed_input_tokens"),
        state=state,
        was=None if was is None else metric(was),
        now=None if now is None else metric(now),
        **more,
    )
