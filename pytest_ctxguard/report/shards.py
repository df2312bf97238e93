"""The runs that are merged: whether they belong together, and whether they are all there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.errors import ReportError
from pytest_ctxguard.report.beside_baseline import module_of
from pytest_ctxguard.report.run import BROKEN, Run

INCOMPLETE = ("run.shards", "run.missing", "run.broken")
SHOWN = 5  # tests that a finding names


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One of the runs, and the name of its file."""

    name: str
    run: Run


def check_alike(shards: Sequence[Shard]) -> None:
    """Refuse shards that are not of one run: of one commit, judged with the same instruments.

    Raises:
        ReportError: so; it names two files.
    """
    for one, other in combinations(shards, 2):
        names = f"{one.name} and {other.name}"
        first, second = _judged_with(one.run), _judged_with(other.run)
        if differing := [name for name in first if first[name] != second[name]]:
            name = differing[0]
            raise ReportError(
                f"{names} were not judged alike: {name} {first[name]!r} and {second[name]!r}. "
                "Run every shard with the same options, and merge those of one run only."
            )
        if one.run.tests and one.run == other.run:
            raise ReportError(
                f"{names} are one report twice. Give each shard's report a name of its own."
            )
        _check_code(one, other)


def _judged_with(run: Run) -> Mapping[str, object]:
    return {**asdict(run.instruments), "inconclusive verdicts tolerated": run.tolerated}


def _check_code(one: Shard, other: Shard) -> None:
    """Refuse two shards that collected different tests in a module that both collected whole."""
    first, second = collected_whole(one.run), collected_whole(other.run)
    for module in sorted(first.keys() & second.keys()):
        if only := sorted(first[module] ^ second[module]):
            has, lacks = (one, other) if only[0] in first[module] else (other, one)
            raise ReportError(
                f"{one.name} and {other.name} are not of the same code: {only[0]} was collected "
                f"in {has.name}, and not in {lacks.name}. Run every shard from one commit, and "
                "merge those of one run only."
            )


def collected_whole(run: Run) -> Mapping[str, set[str]]:
    """Return module -> its guarded tests, of the modules that a run collected whole."""
    found: dict[str, set[str]] = {}
    for nodeid in run.collection.guarded:
        if module_of(nodeid) not in run.collection.partly:
            found.setdefault(module_of(nodeid), set()).add(nodeid)
    return found


def missing(shards: Sequence[Shard], *, expected: int | None) -> Iterator[Finding]:
    """Yield what keeps the shards from being the whole of a suite; it fails, and is not tolerated.

    Args:
        shards: all of them.
        expected: how many there should be, if that is known.
    """
    if expected is not None and len(shards) != expected:
        yield _miscounted(shards, expected=expected)
    guarded = {nodeid for shard in shards for nodeid in shard.run.collection.guarded}
    ran = {test.nodeid for shard in shards for test in shard.run.tests}
    if lost := sorted(guarded - ran):
        yield _lost(lost, of=len(guarded))
    if broken := [shard.name for shard in shards if BROKEN in shard.run.collection.narrowed]:
        yield Finding(
            rule="run.broken",
            what=f"{BROKEN}, so that its tests are not known",
            where=", ".join(sorted(broken)),
            measured=f"{len(broken)} of {len(shards)} shards",
            allowed="none",
            why="whether their promises hold is not known",
            remedy="mend the error that pytest printed there, and run the shards again",
        )


def _miscounted(shards: Sequence[Shard], *, expected: int) -> Finding:
    few = len(shards) < expected
    return Finding(
        rule="run.shards",
        what=f"{len(shards)} reports for {expected} shards",
        where=", ".join(sorted(shard.name for shard in shards)),
        measured=str(len(shards)),
        allowed=f"{expected} (--expect)",
        why="what the other shards were to check is not known"
        if few
        else "one of them is of another run",
        remedy="look why a shard wrote no report; run it again, and merge all of them"
        if few
        else "delete the reports of earlier runs, or correct --expect",
    )


def _lost(nodeids: Sequence[str], *, of: int) -> Finding:
    more = f" and {len(nodeids) - SHOWN} more" if len(nodeids) > SHOWN else ""
    tests = "1 guarded test was" if len(nodeids) == 1 else f"{len(nodeids)} guarded tests were"
    return Finding(
        rule="run.missing",
        what=f"{tests} collected, and run by no shard",
        where="; ".join(nodeids[:SHOWN]) + more,
        measured=f"{of - len(nodeids)} of {of} ran",
        allowed="every guarded test that is collected runs in a shard",
        why="whether its promises hold is not known",
        remedy="merge the report of the shard that has them; if there is none, check how the "
        "tests are divided, and whether a shard stopped early",
    )
