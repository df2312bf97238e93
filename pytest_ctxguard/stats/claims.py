"""Claims about a rate, as counts of hits that settle them."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, Protocol

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats.arguments import require_between, require_count
from pytest_ctxguard.stats.binomial import p_at_least, p_at_most, significant

Verdict = Literal["pass", "fail", "inconclusive"]

MOST_TRIALS = 10_000
"""Where the search for a number of trials ends; the tails are good to there."""


class Claim(Protocol):
    """A claim that is settled by a number of hits out of a fixed number of trials."""

    @property
    def trials(self) -> int:
        """How many trials are planned."""
        ...

    @property
    def passes_at(self) -> int | None:
        """Fewest hits that pass; ``None``: no count does."""
        ...

    @property
    def fails_at(self) -> int | None:
        """Most hits that fail; ``None``: no count does."""
        ...


def verdict(claim: Claim, hits: int) -> Verdict:
    """Return what a number of hits out of all planned trials comes to."""
    require_count("hits", hits)
    if hits > claim.trials:
        raise UsageError(f"hits={hits} is more than the {claim.trials} trials of the claim")
    if claim.passes_at is not None and hits >= claim.passes_at:
        return "pass"
    return "fail" if claim.fails_at is not None and hits <= claim.fails_at else "inconclusive"


@dataclass(frozen=True, slots=True)
class CountClaim:
    """At least this many hits in these very trials: exact, nothing is said of any others."""

    at_least: int
    trials: int

    def __post_init__(self) -> None:
        require_count("at_least", self.at_least, least=1)
        require_count("trials", self.trials, least=1)
        if self.at_least > self.trials:
            raise UsageError(
                f"at_least={self.at_least} is more than the {self.trials} trials there are; "
                "lower it or ask for more trials"
            )

    @property
    def passes_at(self) -> int:
        """Fewest hits that pass."""
        return self.at_least

    @property
    def fails_at(self) -> int:
        """Most hits that fail."""
        return self.at_least - 1


@dataclass(frozen=True, slots=True)
class RateClaim:
    """The rate in the population that the trials are drawn from is at least ``min_rate``.

    Two one-sided exact binomial tests (Clopper and Pearson, Biometrika 26, 1934): the claim
    passes where "the rate is below min_rate" is rejected, fails where "it is min_rate or more"
    is, and is inconclusive between.

    Attributes:
        min_rate: between 0 and 1, both excluded.
        trials: how many trials are planned, fixed beforehand.
        alpha: chance of a wrong pass, and of a wrong fail, at most.
        family: how many claims of one test stand or fall together. All must pass, which needs no
            correction (Berger, Technometrics 24, 1982); any may fail, so each is held to
            alpha / family (Bonferroni; whether any fails is the same as by Holm's procedure).
            Both hold however the claims depend on each other.
    """

    min_rate: float
    trials: int
    alpha: float = 0.05
    family: int = 1

    def __post_init__(self) -> None:
        require_between("min_rate", self.min_rate)
        require_between("alpha", self.alpha)
        require_count("trials", self.trials, least=1)
        require_count("family", self.family, least=1)

    @property
    def passes_at(self) -> int | None:
        """Fewest hits that pass; ``None``: no count does."""

        def passes(hits: int) -> bool:
            return significant(p_at_least(hits, self.trials, rate=self.min_rate), self.alpha)

        hits = bisect_left(range(self.trials + 1), True, key=passes)
        return hits if hits <= self.trials else None

    @property
    def fails_at(self) -> int | None:
        """Most hits that fail; ``None``: no count does."""
        alpha = self.alpha / self.family

        def stands(hits: int) -> bool:
            return not significant(p_at_most(hits, self.trials, rate=self.min_rate), alpha)

        hits = bisect_left(range(self.trials + 1), True, key=stands)
        return hits - 1 if hits else None

    @property
    def problem(self) -> str:
        """Why no number of hits can pass, and the trials it takes; else empty."""
        if self.passes_at is not None:
            return ""
        return (
            f"min_rate={self.min_rate:g} cannot pass with {self.trials} trials at "
            f"alpha={self.alpha:g}, not even with {self.trials} hits; it takes "
            f"{least_trials(self.min_rate, alpha=self.alpha)}"
        )

    def verdict(self, hits: int) -> Verdict:
        """Return what a number of hits out of all planned trials comes to."""
        return verdict(self, hits)


def least_trials(min_rate: float, *, alpha: float = 0.05) -> int:
    """Return the fewest trials with which a claim passes if every one is a hit."""
    require_between("min_rate", min_rate)
    require_between("alpha", alpha)
    near = max(1, math.floor(math.log(alpha) / math.log(min_rate)))
    return next(n for n in range(near, near + 3) if significant(min_rate**n, alpha))


def needed_trials(
    min_rate: float, *, true_rate: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return the fewest trials with which a claim passes with probability ``power``.

    ``None`` stands for more than 10,000. The power of an exact test is a saw: a few more trials
    than this may have a little less.

    Args:
        min_rate: the claim's.
        true_rate: the rate in the population, above ``min_rate``.
        alpha: the claim's.
        power: chance of a pass, at least.

    Raises:
        UsageError: the true rate is not above ``min_rate``, or a number is out of its range.
    """
    require_between("power", power)
    least = least_trials(min_rate, alpha=alpha)
    if not min_rate < true_rate <= 1:
        raise UsageError(
            f"true_rate={true_rate!r} is not above min_rate={min_rate!r}; a claim passes only "
            "where the true rate is higher"
        )
    hits = least
    for n in range(least, MOST_TRIALS + 1):
        # One more trial moves the threshold up by one or not at all.
        while not significant(p_at_least(hits, n, rate=min_rate), alpha):
            hits += 1
        if p_at_least(hits, n, rate=true_rate) >= power:
            return n
    return None
