"""Several runs, each of a part of one suite, as one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_ctxguard.baseline import Entries, module_path
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.errors import ReportError
from pytest_ctxguard.report.beside_baseline import (
    module_of,
    place,
    stale,
    stale_findings,
    with_whole,
)
from pytest_ctxguard.report.json_file import dumps
from pytest_ctxguard.report.run import BROKEN, Change, Collection, Effort, Run, TestResult
from pytest_ctxguard.report.shards import (
    INCOMPLETE,
    Shard,
    check_alike,
    collected_whole,
    missing,
)
from pytest_ctxguard.report.whole_run import nothing_judged

DECIDED_HERE = ("run.nothing-judged", "baseline.stale", *INCOMPLETE)
"""Rules about a run as a whole: what they found in a shard says nothing of all of them."""


def merge(
    shards: Sequence[Shard], *, read: Callable[[str], Entries], expected: int | None = None
) -> Run:
    """Return what several runs came to together; their order does not matter.

    Each metric's state comes from the shard that measured it. What only all tests together tell
    is decided anew: what is stale, and what is missing.

    Args:
        shards: one or more.
        read: gives the entries of a baseline file, named relative to the root of the runs.
        expected: how many shards there are, if that is known.

    Raises:
        ReportError: they were not judged with the same instruments, are not of the same code, or
            have two results for one test; it names both files.
        BaselineError: a baseline cannot be read.
    """
    check_alike(shards)
    shards = sorted(shards, key=lambda shard: dumps(shard.run))
    tests = _tests(shards)
    first = shards[0].run
    run = Run(
        tests=tests,
        findings=(*missing(shards, expected=expected), *_kept(shards)),
        changes=_changes(shards),
        written=_union(shard.run.written for shard in shards),
        removed=_union(shard.run.removed for shard in shards),
        collection=with_whole(_collection(shards, tests), tests),
        instruments=first.instruments,
        tolerated=first.tolerated,
        effort=_effort([shard.run.effort for shard in shards]),
    )
    return _concluded(run, read)


def _concluded(run: Run, read: Callable[[str], Entries]) -> Run:
    """Return a run with what only all of its tests tell: what is stale, and that there is none."""
    whole = (test for test in run.tests if module_of(test.nodeid) in run.collection.whole)
    files = {test.baseline for test in whole} - {*run.written}
    baselines = {name: read(name) for name in sorted(files)}
    _check_baselines(run, baselines)
    gone = stale(run.tests, run.collection, baselines)
    findings = [*run.findings]
    if not run.instruments.compare:  # of a git ref nothing can be removed
        findings += stale_findings(gone, gone=run.collection.gone)
    nothing = nothing_judged(run)
    return replace(
        run,
        changes=(*run.changes, *gone),
        findings=(*findings, *([nothing] if nothing else [])),
    )


def _tests(shards: Sequence[Shard]) -> tuple[TestResult, ...]:
    found: dict[str, tuple[Shard, TestResult]] = {}
    for shard in shards:
        for test in shard.run.tests:
            before, same = found.setdefault(test.nodeid, (shard, test))
            if same != test:
                raise ReportError(
                    f"{before.name} and {shard.name} have two results for {test.nodeid}: "
                    f"{same.verdict} and {test.verdict}. Run each test in one shard, and merge "
                    "the shards of one run only."
                )
    return tuple(found[nodeid][1] for nodeid in sorted(found))


def _collection(shards: Sequence[Shard], tests: Sequence[TestResult]) -> Collection:
    """Return what there was to run: all of it, where every test that was collected has run."""
    collections = [shard.run.collection for shard in shards]
    whole = {module for shard in shards for module in collected_whole(shard.run)}
    guarded = _union(each.guarded for each in collections)
    partly = set(_union(each.partly for each in collections)) - whole
    modules = set(map(module_of, guarded))
    narrowed = _union(each.narrowed for each in collections)
    if len(shards) > 1 and not partly and {*guarded} <= {test.nodeid for test in tests}:
        narrowed = tuple({*narrowed} & {BROKEN})
    return Collection(
        guarded=guarded,
        narrowed=narrowed,
        partly=tuple(sorted(partly)),
        gone=_union(each.gone for each in collections),
        unguarded=tuple(
            name
            for name in _union(each.unguarded for each in collections)
            if module_path(name) not in modules
        ),
    )


def _changes(shards: Sequence[Shard]) -> tuple[Change, ...]:
    found = {place(change): change for shard in shards for change in shard.run.changes}
    return tuple(found[key] for key in sorted(found) if found[key].state != "stale")


def _kept(shards: Sequence[Shard]) -> tuple[Finding, ...]:
    """Return what the shards found that is no matter of all of them."""
    found = (finding for shard in shards for finding in shard.run.findings)
    return tuple(dict.fromkeys(each for each in found if each.rule not in DECIDED_HERE))


def _check_baselines(run: Run, baselines: Mapping[str, Entries]) -> None:
    """Refuse a baseline that is not the one the shards were compared with."""
    tests = {test.nodeid: test for test in run.tests}
    for change in run.changes:
        test = tests.get(change.nodeid)
        if test is None or test.baseline not in baselines:
            continue
        entry = baselines[test.baseline].get((test.key, change.label), {})
        if entry.get(change.metric) != change.was:
            raise ReportError(
                f"not the baseline that the shards were compared with: {change.nodeid} "
                f"{change.metric} was {change.was or 'not in it'}, and is "
                f"{entry.get(change.metric) or 'not in it'} here. Merge in a checkout of the "
                "commit that they ran from, and say where it is: --baseline-root",
                path=test.baseline,
            )


def _effort(parts: Sequence[Effort]) -> Effort:
    return replace(
        parts[0],
        started=min(each.started for each in parts),
        seconds=round(sum(each.seconds for each in parts), 3),
        workers=sum(each.workers for each in parts),
        asked=sum(each.asked for each in parts),
        kept=sum(each.kept for each in parts),
        prompt_tokens=sum(each.prompt_tokens for each in parts),
        computed_tokens=sum(each.computed_tokens for each in parts),
        model_seconds=round(sum(each.model_seconds for each in parts), 3),
        notes=tuple(dict.fromkeys(note for each in parts for note in each.notes)),
    )


def _union(parts: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({each for part in parts for each in part}))
