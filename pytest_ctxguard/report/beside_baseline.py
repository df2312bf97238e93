"""Every metric beside its baseline, and what in the baseline nothing measures any more."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_ctxguard.baseline import Entries, Metric, State, differing
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.report.recipe import again_command
from pytest_ctxguard.report.run import Change, Collection, TestResult

SHOWN = 5  # entries that a finding names
UNNOTICED = "a check that is no longer made would go unnoticed"

Baselines = Mapping[str, Entries]
"""Baseline file, relative to the root of the run -> its entries before the run."""


def module_of(nodeid: str) -> str:
    """Return the module part of a node id."""
    return nodeid.partition("::")[0]


def measured(test: TestResult) -> dict[tuple[str, str], tuple[Metric, State]]:
    """Return (label, metric name) -> what a test measured, and what that is to the baseline.

    A replay and a recall of one label share it.
    """
    return {
        (subject.label, name): (metric, judgement.states.get(name, "new"))
        for subject in test.subjects
        for judgement in subject.judgements
        for name, metric in judgement.metrics.items()
    }


def changes(tests: Sequence[TestResult], baselines: Baselines) -> tuple[Change, ...]:
    """Return every metric that was measured beside the baseline's, sorted."""
    found = []
    for test in tests:
        entries = baselines.get(test.baseline, {})
        for (label, name), (now, state) in measured(test).items():
            was = entries.get((test.key, label), {}).get(name)
            accepted = was.accepted if was is not None and state == "unchanged" else None
            found.append(
                Change(
                    nodeid=test.nodeid,
                    label=label,
                    metric=name,
                    state=state,
                    was=was,
                    now=now,
                    differing=() if was is None else differing(was.fingerprint, now.fingerprint),
                    accepted="" if accepted is None else accepted.reason,
                )
            )
    return tuple(sorted(found, key=place))


def with_whole(collection: Collection, tests: Sequence[TestResult]) -> Collection:
    """Return a collection that names the modules of which every guarded test was judged.

    A test that was deselected, stopped before, skipped, whose body failed, or of which the tier
    left something out, leaves its module open; so does one that a node id left out.
    """
    ran = {test.nodeid for test in tests if _judged(test) and not test.unchecked}
    modules = {module_of(nodeid) for nodeid in collection.guarded}
    opened = {module_of(nodeid) for nodeid in collection.guarded if nodeid not in ran}
    return replace(collection, whole=tuple(sorted(modules - opened - {*collection.partly})))


def stale(
    tests: Sequence[TestResult], collection: Collection, baselines: Baselines
) -> tuple[Change, ...]:
    """Return what in the baseline nothing measures any more, sorted.

    Only where that is certain: in modules that ran whole; and files, unless tests were left out.

    Args:
        tests: what ran.
        collection: what there was to run, with the modules that ran whole.
        baselines: of the modules that ran whole.
    """
    found: list[Change] = []
    for module in collection.whole:
        mine = [test for test in tests if module_of(test.nodeid) == module]
        now = {
            (test.key, label, name): metric
            for test in mine
            for (label, name), (metric, _) in measured(test).items()
        }
        open_ = {test.key for test in mine if test.outcome != "passed"}  # may lack a metric
        for (key, label), metrics in baselines.get(mine[0].baseline, {}).items():
            if key in open_:
                continue
            gone = {name: was for name, was in metrics.items() if (key, label, name) not in now}
            nodeid = f"{module}::{key}"
            if len(gone) == len(metrics):
                found.append(Change(nodeid=nodeid, label=label, metric="", state="stale"))
                continue
            found += (
                Change(nodeid=nodeid, label=label, metric=name, state="stale", was=was)
                for name, was in gone.items()
            )
    if not collection.narrowed:
        files = (*collection.gone, *collection.unguarded)
        found += (Change(nodeid=file, label="", metric="", state="stale") for file in files)
    return tuple(sorted(found, key=place))


def stale_findings(changes: Sequence[Change], *, gone: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with stale entries, one finding for each module or file.

    Args:
        changes: the stale ones.
        gone: files among them that have no module.
    """
    by_module: dict[str, list[Change]] = {}
    for change in changes:
        by_module.setdefault(module_of(change.nodeid), []).append(change)
    for module, rows in sorted(by_module.items()):
        yield (
            _file(module, gone=module in gone)
            if rows[0].nodeid == module
            else _entries(module, rows)
        )


def _file(name: str, *, gone: bool) -> Finding:
    return Finding(
        rule="baseline.stale",
        what=f"the baseline {name} belongs to nothing that is tested",
        where=name,
        measured="its module is gone" if gone else "its module has no guarded test",
        allowed="a baseline whose entries are measured",
        why=UNNOTICED,
        remedy="restore what measured it; where its module was renamed, rename the file with it; "
        f"or remove the file: git rm {shlex.quote(name)}",
    )


def _entries(module: str, rows: Sequence[Change]) -> Finding:
    count = "1 entry" if len(rows) == 1 else f"{len(rows)} entries"
    measured = "is" if len(rows) == 1 else "are"
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return Finding(
        rule="baseline.stale",
        what=f"{count} in the baseline of {module} {measured} measured by no test",
        where="; ".join(map(describe, rows[:SHOWN])) + more,
        measured="every guarded test of the module ran, and none measured this",
        allowed="a baseline whose entries are measured",
        why=UNNOTICED,
        remedy="restore what measured it; or remove it from the file, and record with that what "
        "the module measures now, better or worse: "
        + again_command(module, options=("--ctxguard-update",)),
    )


def _judged(test: TestResult) -> bool:
    """Tell whether a test came to its judgement; a failed assertion of its own has no findings."""
    broken = test.verdict in ("fail", "inconclusive")
    return test.finished and (test.verdict == "pass" or (broken and bool(test.findings)))


def describe(change: Change) -> str:
    """Return what a change is of: node id, label and metric."""
    label = f" [{change.label}]" if change.label else ""
    return f"{change.nodeid}{label}" + (f" {change.metric}" if change.metric else "")


def place(change: Change) -> tuple[str, str, str]:
    """Return what a change is sorted by."""
    return change.nodeid, change.label, change.metric
