"""The tables of a run: what changed beside the baseline, and what every test came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ctxguard.baseline import WORST_FIRST as STATES
from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.report.html.chart import Cell, Table
from pytest_ctxguard.report.run import WORST_FIRST as VERDICTS
from pytest_ctxguard.report.run import Change, Run, Subject, TestResult

NOTHING = "nothing"
ROWS = 100  # of a table that are kept or left out together


def changes_tables(run: Run) -> Iterator[Table]:
    """Yield the metrics that are not as the baseline has them, or were accepted with a reason."""
    told = [each for each in run.changes if each.state != "unchanged" or _reason(each)]
    told.sort(key=lambda change: STATES.index(change.state))
    rows = [
        (
            f"{each.nodeid} [{each.label}]" if each.label else each.nodeid,
            each.metric or "all of the entry",
            Cell(text=each.state, kind=each.state),
            _value(each.was),
            _value(each.now),
            _reason(each),
            ", ".join(each.differing),
        )
        for each in told
    ]
    yield from _tables(
        rows,
        caption="Metrics beside the baseline",
        head=("test", "metric", "state", "was", "now", "accepted because", "differs in"),
    )


def tests_tables(run: Run) -> Iterator[Table]:
    """Yield every test with its verdict and what each promise came to."""
    rows = [
        (
            test.nodeid,
            Cell(text=test.verdict, kind=test.verdict),
            test.outcome,
            "\n".join(_promises(test)),
        )
        for test in sorted(run.tests, key=lambda test: VERDICTS.index(test.verdict))
    ]
    head = ("test", "verdict", "outcome", "promises")
    yield from _tables(rows, caption="All tests", head=head)


def _tables(
    rows: Sequence[tuple[str | Cell, ...]], *, caption: str, head: tuple[str, ...]
) -> Iterator[Table]:
    for at in range(0, len(rows), ROWS):
        yield Table(caption=caption, head=head, rows=tuple(rows[at : at + ROWS]))


def _value(metric: Metric | None) -> str:
    return NOTHING if metric is None else str(metric)


def _reason(change: Change) -> str:
    accepted = None if change.was is None else change.was.accepted
    if accepted is None:
        return ""
    return accepted.reason + ("" if accepted.was is None else f" (before: {accepted.was:,})")


def _promises(test: TestResult) -> Iterator[str]:
    for subject in test.subjects:
        yield from _kept(subject)
    if test.unchecked:
        yield f"not checked in this tier: {', '.join(test.unchecked)}"
    if test.note:
        yield test.note


def _kept(subject: Subject) -> Iterator[str]:
    yield subject.title
    for judgement in subject.judgements:
        state = f" [{judgement.state}]" if judgement.state else ""
        yield f"  {judgement.verdict}: {judgement.promise}: {judgement.summary}{state}"
