"""Draws that are the same on every Python: from ``random()`` alone.

The ``random`` module promises the sequence of ``random()`` for a seed across versions, and of no
other method.
"""

from __future__ import annotations

import random
from collections.abc import Iterator


def below(rng: random.Random, n: int) -> int:
    """Return an integer from 0 to ``n - 1``."""
    return int(rng.random() * n)


def distinct(seed: str, n: int) -> Iterator[int]:
    """Yield the integers below ``n`` in a drawn order; as many as are taken are worked out.

    A shuffle by Fisher and Yates of a list that is not written down: drawing more of them leaves
    the first as they were.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    moved: dict[int, int] = {}
    for i in range(n):
        j = i + below(rng, n - i)
        yield moved.get(j, j)
        moved[j] = moved.get(i, i)
