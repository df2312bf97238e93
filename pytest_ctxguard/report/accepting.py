"""What a run measured of one test, to be accepted in place of its baseline."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from pytest_ctxguard.baseline import Accepted, Entries, Metric
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.report.recipe import again_command
from pytest_ctxguard.report.run import Change, Run, TestResult

ACCEPTABLE = ("new", "improved", "regressed", "incomparable")
NEAR = 3  # node ids that a refusal names


def find_test(run: Run, nodeid: str) -> TestResult:
    """Return a test of a run that may be accepted: nothing but the baseline is against it.

    Raises:
        UsageError: it is not in the run, or something else is wrong with it.
    """
    tests = {test.nodeid: test for test in run.tests}
    test = tests.get(nodeid)
    if test is None:
        near = difflib.get_close_matches(nodeid, tests, n=NEAR, cutoff=0.3)
        listed = f"near it: {', '.join(near)}" if near else "no guarded test ran at all"
        raise UsageError(
            f"the run has no guarded test {nodeid!r}; {listed}. Run it: "
            f"{again_command(nodeid)}; or give the report of a run that has it, with --from"
        )
    if refused := _refusal(run, test):
        raise UsageError(refused)
    return test


def acceptable(run: Run, test: TestResult) -> bool:
    """Tell whether a test is against its baseline, and against nothing else."""
    return any(finding.baseline for finding in test.findings) and not _refusal(run, test)


def _refusal(run: Run, test: TestResult) -> str:
    """Return why what a test measured cannot be accepted; empty: it can."""
    nodeid = test.nodeid
    if run.instruments.compare:
        return (
            f"the run compared with {run.instruments.compare}, not with the baseline file. Run "
            f"without --ctxguard-compare: {again_command(nodeid)}"
        )
    if test.outcome not in ("passed", "failed"):
        return f"{nodeid} was {test.outcome}, so there is nothing of it to accept"
    others = [
        finding
        for finding in test.findings
        if not finding.baseline and not (finding.inconclusive and run.tolerated)
    ]
    if others:
        return (
            f"{nodeid} breaks more than its baseline: [{others[0].rule}] {others[0].what}. "
            "Accepting what was measured does not mend this; change the policy, or the mark"
        )
    if test.verdict == "error" or (test.outcome == "failed" and not test.findings):
        said = f": {test.message}" if test.message else ""
        return f"{nodeid} did not come to its judgement{said.removesuffix('.')}. Mend that first"
    return ""


def find_changes(
    run: Run, nodeid: str, *, label: str | None = None, metric: str | None = None
) -> tuple[Change, ...]:
    """Return what of a test is not as in its baseline.

    Args:
        run: what was measured.
        nodeid: the test.
        label: only what has this label.
        metric: only the metric of this name.

    Raises:
        UsageError: it has none of this label or name, or all is as in the baseline.
    """
    rows = [change for change in run.changes if change.nodeid == nodeid and change.now]
    if not rows:
        raise UsageError(f"{nodeid} measures nothing that a baseline keeps")
    rows = _chosen(rows, "label", label)
    rows = _chosen(rows, "metric", metric)
    found = tuple(change for change in rows if change.state in ACCEPTABLE)
    if not found:
        raise UsageError(f"nothing to accept: what {nodeid} measured is as in its baseline")
    return found


def accepted(entries: Entries, changes: Sequence[Change], *, key: str, reason: str) -> Entries:
    """Return a baseline's entries with what was measured in place of what they held.

    Args:
        entries: of the file, as they are now.
        changes: what is accepted.
        key: the test's in the file.
        reason: why.

    Raises:
        UsageError: the entries are not those that the run was compared with.
    """
    after = {each: dict(metrics) for each, metrics in entries.items()}
    for change in changes:
        entry = after.setdefault((key, change.label), {})
        held, was, now = entry.get(change.metric), change.was, change.now
        if now is not None:
            _require_same(held, was, now=now, name=f"{change.nodeid} {change.metric}")
            said = Accepted(reason, None if was is None else was.value)
            entry[change.metric] = replace(now, accepted=said)
    return after


def _require_same(held: Metric | None, was: Metric | None, *, now: Metric, name: str) -> None:
    if held is not None and held.measures_as(now):
        raise UsageError(f"nothing to accept: the baseline holds what {name} measured, {now}")
    if held is None and was is None:
        return
    if held is None or was is None or not held.measures_as(was):
        raise UsageError(
            f"{name}: the run was compared with {was or 'nothing'}, and the baseline now holds "
            f"{held or 'nothing'}; one of the two is of another time. Run the test again, then "
            "accept"
        )


def _chosen(rows: Sequence[Change], field: str, wanted: str | None) -> list[Change]:
    found = [row for row in rows if wanted is None or getattr(row, field) == wanted]
    if not found:
        known = ", ".join(sorted({repr(getattr(row, field)) for row in rows}))
        raise UsageError(f"{rows[0].nodeid} has no {field} {wanted!r}; it has: {known}")
    return found
