"""Turn a forest of entries, each with the one it follows, into the histories it holds."""

from __future__ import annotations

from collections.abc import Sequence

Way = tuple[int, ...]


def histories(parents: Sequence[int | None], says: Sequence[bool]) -> tuple[Way, ...]:
    """Return the ways from a root to each last thing said, in the order in which they branch off.

    A history that forks (an edited prompt, an answer asked for again) is several histories that
    begin alike: the entries before the fork are on each of their ways.

    Args:
        parents: entry -> the entry it follows, always an earlier one; ``None`` for a root.
        says: entry -> whether it says anything; a way that only adds entries that do not is none
            of its own.
    """
    below = [False] * len(parents)
    for entry in reversed(range(len(parents))):
        parent = parents[entry]
        if parent is not None and (says[entry] or below[entry]):
            below[parent] = True
    ends = (entry for entry in range(len(parents)) if says[entry] and not below[entry])
    return tuple(sorted(_way(parents, end) for end in ends))


def _way(parents: Sequence[int | None], end: int) -> Way:
    way = [end]
    while (parent := parents[way[-1]]) is not None:
        way.append(parent)
    return tuple(reversed(way))


def departures(ways: Sequence[Way]) -> tuple[int, ...]:
    """Return, for each way but the first, the entry at which it leaves all those before."""
    seen: set[int] = set()
    found = []
    for way in ways:
        if seen:
            found.append(next(entry for entry in way if entry not in seen))
        seen.update(way)
    return tuple(found)
