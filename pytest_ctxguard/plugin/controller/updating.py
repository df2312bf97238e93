"""What an update makes of a baseline's entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_ctxguard.baseline import Entries, Metric
from pytest_ctxguard.report.beside_baseline import measured, module_of
from pytest_ctxguard.report.run import Change, TestResult


def updated(
    entries: Entries,
    tests: Sequence[TestResult],
    *,
    removable: Sequence[Change] = (),
    only_new: bool = False,
) -> Entries:
    """Return a baseline's entries with what the passing tests measured, without what is stale.

    Args:
        entries: of one file, as they are.
        tests: of its module; those that did not pass change nothing.
        removable: what is stale in it.
        only_new: whether a metric that is there stays as it is.
    """
    after = {key: dict(metrics) for key, metrics in entries.items()}
    for test in tests:
        if test.outcome == "passed":
            for (label, name), (now, _) in measured(test).items():
                entry = after.setdefault((test.key, label), {})
                if name not in entry or not only_new:
                    entry[name] = with_reason(now, entry.get(name))
    for change in removable:
        entry = after.get((change.nodeid.partition("::")[2], change.label), {})
        if change.metric:
            entry.pop(change.metric, None)
        else:
            entry.clear()
    return {key: metrics for key, metrics in after.items() if metrics}


def with_reason(now: Metric, was: Metric | None) -> Metric:
    """Return a metric with the reason its value was accepted with, while the value is the same."""
    same = was is not None and (was.value, was.of, was.trials) == (now.value, now.of, now.trials)
    return replace(now, accepted=was.accepted if was is not None and same else None)


def removable(change: Change, tests: Sequence[TestResult]) -> bool:
    """Tell whether an update may remove a stale entry: not one of a test that did not pass."""
    return all(test.outcome == "passed" for test in tests if test.nodeid == change.nodeid)


def of_modules(changes: Sequence[Change], tests: Sequence[TestResult]) -> tuple[Change, ...]:
    """Return those of the changes that are of the modules of these tests."""
    modules = {module_of(test.nodeid) for test in tests}
    return tuple(change for change in changes if module_of(change.nodeid) in modules)
