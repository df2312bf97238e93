"""Intervals of a rate, for display."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from pytest_ctxguard.stats.arguments import require_between, require_counts


@dataclass(frozen=True, slots=True)
class Interval:
    """The rates that a count does not speak against."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


def wilson(hits: int, of: int, *, confidence: float = 0.95) -> Interval:
    """Return the score interval of a rate, two-sided, without continuity correction.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927); method 3 in Newcombe, "Two-sided confidence intervals for the single proportion",
    Statistics in Medicine 17 (1998).

    Raises:
        UsageError: no trials, more hits than trials, or a confidence outside 0 to 1.
    """
    require_counts(hits, of)
    require_between("confidence", confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = 2 * hits + z * z
    spread = z * math.sqrt(z * z + 4 * hits * (of - hits) / of)
    whole = 2 * (of + z * z)
    # At the ends the formula gives 0 and 1 exactly; rounding must not leave a stray digit.
    low = 0.0 if hits == 0 else (centre - spread) / whole
    high = 1.0 if hits == of else (centre + spread) / whole
    return Interval(low, high)
