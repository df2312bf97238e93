"""What the controller does with baselines once all tests have run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from pytest_ctxguard.baseline import Entries, baseline_of, edited, resolve
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.errors import BaselineError, UsageError
from pytest_ctxguard.plugin.controller.updating import of_modules, removable, updated
from pytest_ctxguard.plugin.settings.settings import Settings
from pytest_ctxguard.report.beside_baseline import (
    changes,
    measured,
    module_of,
    stale,
    stale_findings,
    with_whole,
)
from pytest_ctxguard.report.json_file import dumps
from pytest_ctxguard.report.run import Change, Collection, Run, TestResult

LAST_RUN = "ctxguard/last-run.json"
"""Key in pytest's own cache, and below ``v/`` the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of the baselines.

    Attributes:
        collection: what there was to run, now with the modules that ran whole.
        changes: every metric beside its baseline, and what is stale, as it was before the run.
        written: baseline files that were written, relative to the root.
        removed: those that were removed, since nothing is left of them.
        findings: what fails the run as a whole: what is stale, or cannot be read or written.
    """

    collection: Collection
    changes: tuple[Change, ...] = ()
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def keep(
    tests: Sequence[TestResult], *, collection: Collection, settings: Settings, root: Path
) -> Kept:
    """Compare what was measured with the baselines, and write what the run was asked to.

    Args:
        tests: what every guarded test came to.
        collection: what there was to run.
        settings: of this run.
        root: what the paths are relative to.
    """
    collection = with_whole(_narrowed(collection, tests), tests)
    by_file: dict[str, list[TestResult]] = {}
    for test in tests:
        if measured(test) or module_of(test.nodeid) in collection.whole:
            by_file.setdefault(test.baseline, []).append(test)
    before: dict[str, Entries] = {}
    findings: list[Finding] = []
    for name in sorted(by_file):
        try:
            before[name] = baseline_of(root / name, compare=settings.compare).entries
        except (BaselineError, UsageError) as error:
            findings.append(_trouble(name, error, what="cannot be read"))
    old = stale(tests, collection, before)
    kept = Kept(collection=collection, changes=(*changes(tests, before), *old))
    if settings.compare:  # nothing is written; and of a ref nothing can be removed
        return replace(kept, findings=tuple(findings))
    if settings.update or settings.update_new:
        gone = [each for each in old if settings.update and removable(each, tests)]
        old = tuple(each for each in old if each not in gone)
        done = _Writing(root)
        for name in before:
            mine = by_file[name]
            done.edit(
                name,
                partial(
                    updated,
                    tests=mine,
                    removable=of_modules(gone, mine),
                    only_new=settings.update_new,
                ),
            )
        for each in gone:
            if "::" not in each.nodeid:
                done.edit(each.nodeid, lambda entries: {})
        kept = replace(kept, written=tuple(done.written), removed=tuple(done.removed))
        findings += done.findings
    found = (*findings, *stale_findings(old, gone=collection.gone))
    return replace(kept, findings=found)


def _narrowed(collection: Collection, tests: Sequence[TestResult]) -> Collection:
    """Return a collection that also says whether the run stopped, or only collected."""
    if {*collection.guarded} <= {test.nodeid for test in tests} or collection.narrowed:
        return collection
    return replace(collection, narrowed=("not every test ran",))


@dataclass(slots=True)
class _Writing:
    """What was written, and what could not be."""

    root: Path
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def edit(self, name: str, change: Callable[[Entries], Entries]) -> None:
        try:
            before, after = edited(self.root / name, change)
        except (BaselineError, UsageError, OSError) as error:
            self.findings.append(_trouble(name, error, what="cannot be written"))
            return
        if before and not after:
            self.removed.append(name)
        elif before != after:
            self.written.append(name)


def _trouble(name: str, error: Exception, *, what: str) -> Finding:
    return Finding(
        rule="baseline.broken",
        what=f"the baseline {name} {what}",
        where=name,
        measured=str(error),
        allowed="a baseline that is read and written whole",
        why="nothing was compared with it, or nothing of this run is in it",
        remedy="mend what the error names, and run again",
    )


def leave(run: Run, config: pytest.Config) -> None:
    """Leave a run in pytest's cache, where ``pytest-ctxguard accept`` takes it from."""
    cache = getattr(config, "cache", None)  # none with -p no:cacheprovider
    if cache is not None:
        cache.set(LAST_RUN, json.loads(dumps(run)))


def check_compare(settings: Settings, root: Path) -> None:
    """Refuse to compare with a commit that git does not know, before any test runs.

    Raises:
        pytest.UsageError: it does not.
    """
    if settings.compare:
        try:
            resolve(settings.compare, folder=root)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
