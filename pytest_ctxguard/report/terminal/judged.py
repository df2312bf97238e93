"""Every judgement of every test, for a verbose run."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.report.run import Run, Subject
from pytest_ctxguard.report.tables.recall import recall_lines
from pytest_ctxguard.report.terminal.screen import Line, Screen

STYLES = {"fail": ("red",), "inconclusive": ("yellow",), "pass": ()}


def judged_lines(run: Run, screen: Screen) -> Iterator[Line]:
    """Yield each test, each thing it judged, and what every promise about that came to."""
    for test in run.tests:
        yield screen.text(test.nodeid), ("bold",)
        for subject in test.subjects:
            for text, style in _subject_lines(subject):
                yield screen.text(text), style
        for text in test.note.splitlines():
            yield screen.text(f"  {text.strip()}"), ("yellow",)
        if test.unchecked:
            left = ", ".join(test.unchecked)
            yield screen.text(f"  not checked in this tier: {left}"), ("yellow",)
    yield totals_line(run)


def _subject_lines(subject: Subject) -> Iterator[Line]:
    replay = subject.replay
    prefix = ""
    if replay is not None:
        budget = f", budget {replay.budget:,}" if replay.budget else ""
        yield (
            f"  {subject.title}: {replay.calls} calls, {replay.billed:,} tokens billed, "
            f"{replay.final:,} in the last request{budget}",
            (),
        )
    elif subject.recall is not None:
        yield from ((line, ()) for line in recall_lines(subject.recall))
    elif subject.kind == "laws":
        yield f"  {subject.title}", ()
    elif subject.kind == "estimate":
        prefix = f"{subject.name}, "
    for judgement in subject.judgements:
        yield _judgement_line(judgement, prefix=prefix)


def _judgement_line(judgement: Judgement, *, prefix: str) -> Line:
    state = f" [{judgement.state}]" if judgement.state else ""
    return (
        f"    {judgement.verdict:<13}{prefix}{judgement.promise}: {judgement.summary}{state}",
        STYLES[judgement.verdict],
    )


def totals_line(run: Run) -> Line:
    """Return how many promises came to what, and what they are to the baseline."""
    judgements = [judgement for test in run.tests for judgement in test.judgements]
    counts = {verdict: sum(j.verdict == verdict for j in judgements) for verdict in STYLES}
    parts = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    states = [j.state for j in judgements if j.state]
    named = [f"{states.count(state)} {state}" for state in sorted(set(states))]
    against = f"; against the baseline: {', '.join(named)}" if named else ""
    return f"promises: {', '.join(parts) or 'none judged'}{against}", ("bold",)
