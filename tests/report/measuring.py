"""Tests that measured something, as values: what baselines are compared with and written from."""

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.report.run import Subject, TestResult
from tests.report.runs import finding

LETTERS = {"counter": "letters"}


def metric(value=100, **more):
    return Metric(value, more.pop("fingerprint", LETTERS), **more)


def about(rule="ctx_token_cost.dearer", **changes):
    """A finding about the baseline."""
    return finding(rule, baseline=True, **changes)


def subject(label="", *findings, state="unchanged", **metrics):
    """One replay that measured these metrics."""
    judged = Judgement(
        "token_cost", "so", findings, metrics=metrics, states=dict.fromkeys(metrics, state)
    )
    return Subject(kind="replay", name="mini", policy="fit", label=label, judgements=(judged,))


def result(name, *subjects, module="test_a", **changes):
    """A test that passed."""
    fields = {
        "nodeid": f"{module}.py::{name}",
        "file": f"{module}.py",
        "line": 1,
        "baseline": f"{module}.ctxguard.json",
        "key": name,
        "outcome": "passed",
        "verdict": "pass",
        "subjects": subjects,
    }
    return TestResult(**{**fields, **changes})


def failed(name, *subjects, verdict="fail", **changes):
    return result(name, *subjects, outcome="failed", verdict=verdict, **changes)
