"""What a sample of trials is held to: these very trials, their population, the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard import stats
from pytest_ctxguard.checks.promise import Tier, is_count, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.outcomes import OUTCOMES


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleClaim:
    """The arguments of a marker that judges a sample; a check inherits them.

    Every cell (one depth, one length) is held to each claim by itself.

    Attributes:
        trials: how many there are in each cell, where the marker says it.
        at_least: hits among these very trials.
        min_rate: rate in the population they are drawn from, shown at ``alpha``.
        alpha: chance of a wrong pass, and of a wrong fail, at most; over all cells.
        max_lost: the baseline's hits that may turn into misses.
        margin: fall of the rate against the baseline that is shown not to have come about.
    """

    trials: int | None = None
    at_least: int | None = None
    min_rate: float | None = None
    alpha: float = 0.05
    max_lost: int | None = None
    margin: float | None = None

    marker: ClassVar[str]
    tier: ClassVar[Tier] = "model"
    usage: ClassVar[str]

    def __post_init__(self) -> None:
        claims = (self.at_least, self.min_rate, self.max_lost, self.margin)
        require(
            any(claim is not None for claim in claims),
            self,
            "it claims nothing; give at_least, min_rate, max_lost or margin",
        )
        require(
            self.max_lost is None or is_count(self.max_lost),
            self,
            f"max_lost={self.max_lost!r} is not a count",
        )
        require(
            self.at_least is None or is_count(self.at_least, least=1),
            self,
            f"at_least={self.at_least!r} is not a count of trials, 1 or more",
        )
        for name in ("min_rate", "alpha", "margin"):
            value = getattr(self, name)
            if value is not None:
                require(
                    isinstance(value, float) and 0 < value < 1,
                    self,
                    f"{name}={value!r} is not a number between 0 and 1, both excluded",
                )
        if self.trials is not None:
            require(is_count(self.trials, least=1), self, f"trials={self.trials!r} is not a count")
            self.check(trials=self.trials)

    @property
    def subject(self) -> str:
        """What it is about: every cell."""
        return ""

    @property
    def curtails(self) -> bool:
        """Whether trials that cannot change the verdict may be left out.

        Not where the baseline is compared: it is paired with every trial.
        """
        return self.max_lost is None and self.margin is None

    def check(self, *, trials: int) -> None:
        """Refuse claims that this many trials in a cell can never meet.

        Raises:
            UsageError: it says how many it takes.
        """
        require(
            self.at_least is None or self.at_least <= trials,
            self,
            f"at_least={self.at_least} is more than the {trials} trials there are",
        )
        if self.min_rate is not None:
            problem = stats.RateClaim(self.min_rate, trials, alpha=self.alpha).problem
            require(not problem, self, problem)
        if self.margin is not None:
            needed = stats.unchanged_needs(self.margin, alpha=self.alpha)
            require(
                trials >= needed,
                self,
                f"margin={self.margin:g} cannot pass with {trials} trials at "
                f"alpha={self.alpha:g}, not even where nothing changes; it takes {needed}",
            )

    def family(self, cells: int) -> int:
        """Return how many tests stand or fall together in this many cells."""
        return cells * sum(claim is not None for claim in (self.min_rate, self.margin))

    def rate(self, *, trials: int, cells: int) -> stats.RateClaim | None:
        """Return the claim about the population of one of several cells."""
        if self.min_rate is None:
            return None
        return stats.RateClaim(self.min_rate, trials, alpha=self.alpha, family=self.family(cells))

    def claims(self, *, trials: int, cells: int = 1) -> tuple[stats.Claim, ...]:
        """Return what decides a cell, for :func:`~pytest_ctxguard.stats.ask_until_decided`.

        None where every trial is needed.
        """
        if not self.curtails:
            return ()
        rate = self.rate(trials=trials, cells=cells)
        count = stats.CountClaim(self.at_least, trials) if self.at_least is not None else None
        return tuple(claim for claim in (count, rate) if claim is not None)


@dataclass(frozen=True, slots=True)
class SampleCell:
    """The trials of one cell.

    Attributes:
        name: of the cell, or empty where there is one only.
        planned: how many trials were planned.
        trials: trial id -> outcome of those asked, in id order: all, or those that decide.
    """

    name: str
    planned: int
    trials: Mapping[str, str]

    def __post_init__(self) -> None:
        if not 0 < len(self.trials) <= self.planned:
            raise UsageError(
                f"cell {self.name!r} has {len(self.trials)} outcomes of {self.planned} planned "
                "trials; there must be one at least, and no more than planned"
            )
        unknown = sorted(set(self.trials.values()) - set(OUTCOMES))
        if unknown:
            raise UsageError(
                f"cell {self.name!r}: {unknown[0]!r} is no outcome; there are: "
                + ", ".join(OUTCOMES)
            )

    @property
    def hits(self) -> int:
        """Trials that were answered."""
        return sum(outcome == "hit" for outcome in self.trials.values())

    @property
    def left(self) -> int:
        """Trials that were not needed."""
        return self.planned - len(self.trials)

    @property
    def interval(self) -> stats.Interval:
        """Wilson's 95 % interval of the rate, for display.

        Where trials were left out, it reaches from the low end with all of them missed to the
        high end with all of them hit: it holds the interval that asking them would have given.
        """
        low = stats.wilson(self.hits, self.planned).low
        return stats.Interval(low, stats.wilson(self.hits + self.left, self.planned).high)

    @property
    def misses(self) -> tuple[str, ...]:
        """Ids of the trials that were not answered."""
        return tuple(id for id, outcome in self.trials.items() if outcome != "hit")

    def __str__(self) -> str:
        counts = Counter(self.trials.values())
        outcomes = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
        stopped = f" (decided; {self.planned} planned)" if self.left else ""
        name = f"{self.name}: " if self.name else ""
        return (
            f"{name}{self.hits} of {len(self.trials)} trials{stopped}, "
            f"95 % interval {self.interval} ({outcomes})"
        )
