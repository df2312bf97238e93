"""Depths: where in the haystack the needle stands, 0 the start and 1 the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from pytest_ctxguard.errors import UsageError

Spacing = Literal["linear", "sigmoid"]
SPACINGS: tuple[Spacing, ...] = get_args(Spacing)

STEEPNESS = 10.0
DIGITS = 4  # of a depth, so that a recipe is short


def spaced(n: int, *, spacing: Spacing = "linear") -> tuple[float, ...]:
    """Return ``n`` depths from 0 to 1; one alone is in the middle.

    ``linear``: equally far apart. ``sigmoid``: denser towards both ends, where recall changes
    most. An equally spaced ``x`` becomes ``1 / (1 + exp(-10 (x - 0.5)))``; the two ends stay 0
    and 1. That is the logistic curve of "Needle In A Haystack" (G. Kamradt, 2023,
    github.com/gkamradt/LLMTest_NeedleInAHaystack: L=100, x0=50, k=0.1, in percent).

    Raises:
        UsageError: ``n`` is no positive number, or there is no such spacing.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise UsageError(f"depths={n!r}: a number of depths is 1 or more")
    if spacing not in SPACINGS:
        raise UsageError(f"spacing={spacing!r} is neither 'linear' nor 'sigmoid'")
    if n == 1:
        return (0.5,)
    even = [i / (n - 1) for i in range(n)]
    if spacing == "linear":
        return tuple(round(x, DIGITS) for x in even)
    inner = (1 / (1 + math.exp(-STEEPNESS * (x - 0.5))) for x in even[1:-1])
    return (0.0, *(round(x, DIGITS) for x in inner), 1.0)


def check_depth(depth: object) -> float:
    """Return a depth as a float.

    Raises:
        UsageError: it is no number from 0 to 1.
    """
    if isinstance(depth, bool) or not isinstance(depth, int | float) or not 0 <= depth <= 1:
        raise UsageError(f"depth {depth!r}: a depth is a number from 0 (start) to 1 (end)")
    return float(depth)


def given_depths(
    depths: int | float | Sequence[float], *, spacing: Spacing = "linear"
) -> tuple[float, ...]:
    """Return depths from what a test may give: how many, one, or a sequence of them.

    Raises:
        UsageError: none, one twice, one that is no depth, or a spacing for a sequence.
    """
    if isinstance(depths, int) and not isinstance(depths, bool):
        return spaced(depths, spacing=spacing)
    if spacing != "linear":
        raise UsageError(
            f"spacing={spacing!r} spaces a number of depths: depths=9, not a list of them"
        )
    listed = [depths] if isinstance(depths, float | bool | str) else list(depths)
    checked = tuple(map(check_depth, listed))
    if not checked or len(set(checked)) < len(checked):
        raise UsageError(f"depths={depths!r}: give one or more depths, each once")
    return checked


def record_at(depth: float, records: int) -> int:
    """Return the position of the record at a depth: ``depth * (records - 1)``, halves down.

    Records are one line each and nearly of one length, so this is the depth in tokens to within
    a record, without counting any. Halves go down so that depth 0.5 is ``(records - 1) // 2``
    at every length: the record that registers of all lengths have in the middle.
    """
    return math.ceil(round(depth * (records - 1), 6) - 0.5)
