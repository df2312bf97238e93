"""Not worse by more than a margin, on the same trials."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats.arguments import require_between, require_count
from pytest_ctxguard.stats.binomial import p_at_least, p_at_most, p_exactly, significant
from pytest_ctxguard.stats.claims import MOST_TRIALS, Verdict
from pytest_ctxguard.stats.paired import Changes, changes

GRID = 100
ZOOMS = 3
UNLIKELY = 1e-12
TIE = 1e-9
"""Statistics that differ by less are equal: they are one outcome, computed along two ways."""


@dataclass(frozen=True, slots=True)
class Noninferiority:
    """What the paired trials show.

    Attributes:
        verdict: pass: the loss is shown to be below the margin; fail: above it.
        changes: the trials lost and gained.
        p_pass: p-value against "the loss is the margin or more".
        p_fail: p-value against "the loss is the margin or less".
    """

    verdict: Verdict
    changes: Changes
    p_pass: float
    p_fail: float


def noninferior(
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    margin: float,
    alpha: float = 0.05,
    family: int = 1,
) -> Noninferiority:
    """Test whether recall in the population has fallen by less than ``margin``.

    Args:
        before: trial id -> outcome of the baseline.
        after: the same trials again.
        margin: the fall (rate before minus rate after) that is too much, between 0 and 1.
        alpha: chance of a wrong pass, and of a wrong fail, at most.
        family: as for :class:`~pytest_ctxguard.stats.claims.RateClaim`.

    Raises:
        UsageError: the ids differ, or there are none.
    """
    require_between("margin", margin)
    require_between("alpha", alpha)
    require_count("family", family, least=1)
    table = changes(before, after)
    lost, gained = len(table.lost), len(table.gained)
    p_pass = p_below(lost, gained, of=table.trials, margin=margin)
    p_fail = p_above(lost, gained, of=table.trials, margin=margin)
    verdict: Verdict = "inconclusive"
    if significant(p_pass, alpha):
        verdict = "pass"
    elif significant(p_fail, alpha / family):
        verdict = "fail"
    return Noninferiority(verdict, table, p_pass, p_fail)


def p_below(lost: int, gained: int, *, of: int, margin: float) -> float:
    """Return the exact p-value against "the loss is ``margin`` or more".

    The outcomes (lost, gained) are ordered by the score statistic of Tango, Statistics in
    Medicine 17 (1998). The p-value is the probability of the outcomes that speak as strongly or
    more against the hypothesis, at its worst over what the hypothesis leaves open (exact
    unconditional: Hsueh, Liu and Chen, Biometrics 57, 2001). Such a set of outcomes has with
    each one those with fewer lost and those with more gained (Sidik, Statistics in Medicine 22,
    2003), so the worst case lies where the loss equals the margin, and one rate is left to
    search: that of gains.
    """
    observed = _score(lost, gained, of=of, margin=margin)

    def as_strong(losses: int, gains: int) -> bool:
        return _score(losses, gains, of=of, margin=margin) <= observed + TIE

    fewest = _first_gains(of, as_strong)
    return _worst(p_at_least, fewest, margin=margin)


def p_above(lost: int, gained: int, *, of: int, margin: float) -> float:
    """Return the exact p-value against "the loss is ``margin`` or less", by the same method."""
    observed = _score(lost, gained, of=of, margin=margin)

    def weaker(losses: int, gains: int) -> bool:
        return _score(losses, gains, of=of, margin=margin) < observed - TIE

    most = [gains - 1 for gains in _first_gains(of, weaker)]
    return _worst(p_at_most, most, margin=margin)


def unchanged_needs(margin: float, *, alpha: float = 0.05) -> int:
    """Return the fewest trials with which a run that changes nothing passes.

    Raises:
        UsageError: it takes more than 10,000.
    """
    require_between("margin", margin)
    require_between("alpha", alpha)
    least = max(1, math.floor(math.log(alpha) / math.log1p(-margin)))
    for n in range(least, MOST_TRIALS + 1):
        if significant(p_below(0, 0, of=n, margin=margin), alpha):
            return n
    raise UsageError(f"margin={margin:g} takes more than {MOST_TRIALS:,} trials; raise it")


def changed_needs(
    lost: int, gained: int, *, of: int, margin: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return about how many trials show the margin, where as many change as here.

    By the normal approximation of a difference of paired proportions: (z of alpha + z of power)
    squared, times the variance of one pair, over the squared distance of the loss from the margin
    (Liu and others, Statistics in Medicine 21, 2002). ``None``: the loss seen is the margin or
    more, so that no number does.

    Args:
        lost: trials answered before and not after.
        gained: the other way round.
        of: trials in all.
        margin: the fall that is too much.
        alpha: chance of a wrong pass.
        power: chance of a pass, should the rates be those seen.
    """
    fall = (lost - gained) / of
    if fall >= margin:
        return None
    variance = (lost + gained) / of - fall * fall
    z = NormalDist().inv_cdf(1 - alpha) + NormalDist().inv_cdf(power)
    about = math.ceil(z * z * variance / (margin - fall) ** 2)
    return max(about, of + 1, unchanged_needs(margin, alpha=alpha))


def _score(lost: int, gained: int, *, of: int, margin: float) -> float:
    """Return Tango's statistic: how far the loss lies above the margin, in standard errors."""
    b = lost + gained - (2 * of - lost + gained) * margin
    c = gained * margin * (1 - margin)
    rate = (b + math.sqrt(b * b + 8 * of * c)) / (4 * of)  # of gains, where the loss is the margin
    return (lost - gained - of * margin) / math.sqrt(of * (2 * rate + margin * (1 - margin)))


def _first_gains(of: int, holds: Callable[[int, int], bool]) -> list[int]:
    """Return, for each number of lost trials, the gains from which on a condition holds.

    Where it never does, that is one more than the trials that are not lost.
    """
    return [
        bisect_left(range(of - lost + 1), True, key=partial(holds, lost)) for lost in range(of + 1)
    ]


def _worst(tail: Callable[..., float], bounds: Sequence[int], *, margin: float) -> float:
    """Return the highest probability of a set of outcomes, where the loss equals the margin.

    The probability is a smooth function of the rate of gains, which a grid and a few finer ones
    around its best point follow; the grid is denser near 0, where the function is steep.

    Args:
        tail: of the gains among the trials that are not lost, ``p_at_least`` or ``p_at_most``.
        bounds: for each number of lost trials, the number of gains that bounds the set.
        margin: the loss.
    """
    of = len(bounds) - 1

    def probability(gains: float) -> float:
        losses = gains + margin
        rate = min(1.0, gains / (1 - losses))
        total = 0.0
        for lost, bound in enumerate(bounds):
            weight = p_exactly(lost, of, rate=losses)
            if weight > UNLIKELY / of:
                total += weight * tail(bound, of - lost, rate=rate)
        return total

    low, high = 0.0, math.sqrt((1 - margin) / 2)
    best = 0.0
    for zoom in range(ZOOMS):
        steps = 10 if zoom else GRID
        points = [low + (high - low) * i / steps for i in range(steps + 1)]
        values = [probability(x * x) for x in points]
        best = max(best, *values)
        at = values.index(max(values))
        low, high = points[max(0, at - 1)], points[min(steps, at + 1)]
    return min(1.0, best)
