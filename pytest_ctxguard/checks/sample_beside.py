"""A sample beside the baseline's: the same trials, in pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_ctxguard import stats
from pytest_ctxguard.baseline import State
from pytest_ctxguard.checks.compare import NEAR_TIES, Against
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.sample import SampleClaim

Place = Callable[[Sequence[str]], str]
"""From the trials a finding shows to its *where*."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What the pairs come to."""

    state: State
    summary: str
    findings: tuple[Finding, ...]


def beside(
    against: Against,
    claim: SampleClaim,
    *,
    before: Mapping[str, str],
    after: Mapping[str, str],
    family: int,
    numerics_differ: bool,
    place: Place,
) -> Beside:
    """Compare trials with the baseline's, by ``max_lost`` and ``margin`` where they are claimed.

    Where neither is, a run may have stopped earlier than the other: the trials of both are paired.

    Args:
        against: for the command that accepts.
        claim: the marker's arguments.
        before: trial id -> outcome in the baseline.
        after: trial id -> outcome now.
        family: tests that stand or fall together.
        numerics_differ: whether only the arithmetic differs from the baseline's.
        place: names the trials of a finding.
    """
    shared = {id: outcome for id, outcome in after.items() if id in before}
    if not shared or (not claim.curtails and len(shared) < max(len(before), len(after))):
        return Beside(
            "incomparable",
            "the baseline has other trials",
            (_other_trials(against, claim, before=before, after=after, place=place),),
        )
    table = stats.changes({id: before[id] for id in shared}, shared)
    findings = [*_lost(against, claim, table, after, numerics_differ=numerics_differ, place=place)]
    if claim.margin is not None:
        findings += _margin(
            against,
            claim,
            stats.noninferior(before, after, margin=claim.margin, alpha=claim.alpha, family=family),
            numerics_differ=numerics_differ,
            place=place,
        )
    lost, gained = len(table.lost), len(table.gained)
    state: State = "regressed" if lost > gained else "improved" if gained > lost else "unchanged"
    return Beside(
        state, f"{lost} lost and {gained} gained of {table.trials} paired", tuple(findings)
    )


def _other_trials(
    against: Against,
    claim: SampleClaim,
    *,
    before: Mapping[str, str],
    after: Mapping[str, str],
    place: Place,
) -> Finding:
    differ = sorted(set(before) ^ set(after))
    return Finding(
        rule=f"{claim.marker}.other-trials",
        what="the baseline does not have the same trials",
        where=place(()),
        measured=f"{len(after)} trials; not in both: {', '.join(differ)}",
        allowed=f"the {len(before)} trials of the baseline",
        why="a hit is lost or kept only where a trial was asked before and now",
        remedy=f"record all of them: {against.accept}",
        baseline=True,
    )


def _lost(
    against: Against,
    claim: SampleClaim,
    table: stats.Changes,
    after: Mapping[str, str],
    *,
    numerics_differ: bool,
    place: Place,
) -> Iterator[Finding]:
    if claim.max_lost is None or len(table.lost) <= claim.max_lost:
        return
    yield Finding(
        rule=f"{claim.marker}.lost-hits",
        what=f"{len(table.lost)} trials that were answered no longer are",
        where=place(table.lost),
        measured=", ".join(f"{id} {after[id]}" for id in table.lost),
        allowed=f"at most {claim.max_lost} of the baseline's hits lost",
        why=NEAR_TIES if numerics_differ else "users will see the agent forget",
        remedy=f"mend the policy, or accept: {against.accept}",
        inconclusive=numerics_differ,
        baseline=True,
    )


def _margin(
    against: Against,
    claim: SampleClaim,
    result: stats.Noninferiority,
    *,
    numerics_differ: bool,
    place: Place,
) -> Iterator[Finding]:
    if result.verdict == "pass":
        return
    table = result.changes
    shown = result.verdict == "fail"
    why = "others from the same population will be forgotten as often"
    if not shown:
        why = f"a verdict would be wrong more often than alpha={claim.alpha:g}"
    yield Finding(
        rule=f"{claim.marker}.inferior",
        what=f"recall has fallen by more than {claim.margin:g}"
        if shown
        else f"the trials do not show whether recall has fallen by {claim.margin:g} or more",
        where=place(table.lost),
        measured=f"{len(table.lost)} lost and {len(table.gained)} gained of {table.trials}; "
        f"p={result.p_pass:.3f} for a fall below the margin, {result.p_fail:.3f} for one above",
        allowed=f"shown to have fallen by less than {claim.margin:g}, at alpha={claim.alpha:g}",
        why=NEAR_TIES if shown and numerics_differ else why,
        remedy=f"mend the policy, or accept: {against.accept}"
        if shown
        else f"{_takes(claim, table)}; or allow a wider margin",
        inconclusive=not shown or numerics_differ,
        baseline=True,
    )


def _takes(claim: SampleClaim, table: stats.Changes) -> str:
    """Return how many trials would show the margin, if as many change as here."""
    lost, gained, margin = len(table.lost), len(table.gained), claim.margin or 0
    seen = f"at the changes seen, {lost} lost and {gained} gained of {table.trials}"
    needed = stats.changed_needs(lost, gained, of=table.trials, margin=margin, alpha=claim.alpha)
    if needed is None:
        return f"{seen}, no number of trials shows it: mend the policy"
    number = f"about {needed:,}" if needed <= stats.MOST_TRIALS else f"over {stats.MOST_TRIALS:,}"
    return f"{seen}, {number} trials show it four times in five"
