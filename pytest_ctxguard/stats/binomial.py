"""Tails of the binomial distribution, exact but for rounding."""

from __future__ import annotations

import math

from pytest_ctxguard.stats.arguments import require_count, require_rate

NEGLIGIBLE = 1e-18
"""A further term this small beside the sum cannot change a double."""

TIE = 1e-9
"""Relative slack of a comparison with alpha.

The tails are good to about ten digits for up to 10,000 trials. A tail that equals alpha
(five of five at one half, alpha 1/32) must count as reached on every machine, whichever way its
last digit was rounded.
"""


def p_exactly(hits: int, of: int, *, rate: float) -> float:
    """Return the probability of this many hits; the arguments are not checked."""
    if not 0 <= hits <= of:
        return 0.0
    if rate in (0, 1):
        return float(hits == of * rate)
    ways = math.lgamma(of + 1) - math.lgamma(hits + 1) - math.lgamma(of - hits + 1)
    return math.exp(ways + hits * math.log(rate) + (of - hits) * math.log1p(-rate))


def p_at_least(hits: int, of: int, *, rate: float) -> float:
    """Return the probability of this many hits or more in ``of`` independent trials."""
    require_count("of", of)
    require_rate("rate", rate)
    if hits > of * rate:
        return _above(hits, of, rate)
    return 1.0 - _above(of - hits + 1, of, 1 - rate)


def p_at_most(hits: int, of: int, *, rate: float) -> float:
    """Return the probability of this many hits or fewer in ``of`` independent trials."""
    require_count("of", of)
    require_rate("rate", rate)
    if hits < of * rate:
        return _above(of - hits, of, 1 - rate)
    return 1.0 - _above(hits + 1, of, rate)


def significant(p: float, alpha: float) -> bool:
    """Tell whether a p-value reaches alpha."""
    return p <= alpha * (1 + TIE)


def _above(hits: int, of: int, rate: float) -> float:
    """Return the tail from a number of hits above the mean, where its terms fall."""
    term = first = p_exactly(hits, of, rate=rate)
    terms = []
    while term > first * NEGLIGIBLE:
        terms.append(term)
        term *= (of - hits) / (hits + 1) * (rate / (1 - rate)) if hits < of else 0
        hits += 1
    return min(1.0, math.fsum(terms))
