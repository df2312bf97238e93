"""The verdict of a run in one line, for every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_ctxguard.baseline import WORST_FIRST as STATES
from pytest_ctxguard.baseline import State
from pytest_ctxguard.report.run import Run, TestVerdict

WORDS: Mapping[TestVerdict, str] = {
    "error": "ERROR",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "pass": "PASS",
    "skipped": "NOTHING JUDGED",
}
OF_TESTS: Mapping[TestVerdict, str] = {
    "error": "could not be judged",
    "fail": "failed",
    "inconclusive": "cannot be decided",
    "pass": "passed",
    "skipped": "skipped",
}


def headline(run: Run) -> str:
    """Return what a run came to: the verdict, how many tests, what changed since the baseline."""
    return ". ".join(filter(None, (f"{word(run)}: {tests_text(run)}", states_text(run)))) + "."


def word(run: Run) -> str:
    """Return the verdict, and whether it is let through."""
    tolerated = run.verdict == "inconclusive" and run.passes
    return WORDS[run.verdict] + (" (tolerated)" if tolerated else "")


def tests_text(run: Run) -> str:
    """Return how many tests came to what: ``3 tests: 1 failed, 2 passed``."""
    number = "1 test" if len(run.tests) == 1 else f"{len(run.tests):,} tests"
    parts = list(_parts(run))
    if not parts:
        return "no test ran"
    return f"{number}: {', '.join(parts)}"


def _parts(run: Run) -> Iterator[str]:
    expected = sum(test.outcome == "xfailed" for test in run.tests)
    verdicts = [test.verdict for test in run.tests if test.outcome != "xfailed"]
    for verdict, words in OF_TESTS.items():
        if count := verdicts.count(verdict):
            yield f"{count:,} {words}"
    if expected:
        yield f"{expected:,} failed as expected"
    if run.findings:
        found = "1 finding" if len(run.findings) == 1 else f"{len(run.findings):,} findings"
        yield f"{found} about the run as a whole"


def states_text(run: Run) -> str:
    """Return what changed since the baseline; empty where nothing is compared with it."""
    counts = state_counts(run)
    if not counts:
        return ""
    of = f" of {run.instruments.compare}" if run.instruments.compare else ""
    listed = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    return f"Against the baseline{of}: {listed}"


def state_counts(run: Run) -> Mapping[State, int]:
    """Return state -> number of metrics, the worst first; only those that occur."""
    found = [change.state for change in run.changes]
    return {state: found.count(state) for state in STATES if state in found}
