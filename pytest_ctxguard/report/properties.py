"""A test's result as a few small properties, for JUnit XML and tools that show such."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.run import Subject, TestResult

MOST = 40  # properties of a test

NAMED = {"replay": "transcript", "recall": "haystack"}

Property = tuple[str, str | int]


def properties(test: TestResult) -> tuple[Property, ...]:
    """Return name -> value: the verdict; of what was judged its name, policy, budget and metrics.

    Of a thing with a label, the label ends the name: ``ctxguard.policy[narrow]``.
    """
    rows = [("ctxguard.verdict", test.verdict), *(_all(test))]
    return tuple((printable(name), _scalar(value)) for name, value in rows[:MOST])


def _all(test: TestResult) -> Iterator[Property]:
    for subject in test.subjects:
        label = f"[{subject.label}]" if subject.label else ""
        for name, value in _of(subject):
            if value not in ("", None):
                yield f"ctxguard.{name}{label}", value


def _of(subject: Subject) -> Iterator[Property]:
    figures = subject.replay or subject.recall
    yield NAMED.get(subject.kind, subject.kind), subject.name
    yield "policy", subject.policy
    yield "budget", "" if figures is None or figures.budget is None else figures.budget
    if subject.replay is not None:
        yield "billed_input_tokens", subject.replay.billed
    for judgement in subject.judgements:
        for name, metric in judgement.metrics.items():
            if name != "billed_input_tokens" or subject.replay is None:
                yield name, metric.value if metric.of is None else str(metric)


def _scalar(value: str | int) -> str | int:
    return printable(value) if isinstance(value, str) else value
