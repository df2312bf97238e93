"""Which prompts are still in memory, and how much of the next one they cover.

Bookkeeping only; the tensors are in ``kv.py``. Each slot holds the keys and values of one prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SLOTS = 2  # tools in and tools out alternate in an agent's session
KEPT_BACK = 2  # a prompt token computed alone runs other kernels, which round otherwise


@dataclass(frozen=True, slots=True)
class Plan:
    """How to serve a prompt.

    Attributes:
        slot: where its keys and values go.
        source: the slot that has its first ``reuse`` rows; another one means: copy them.
        reuse: rows that need not be computed.
    """

    slot: int
    source: int
    reuse: int


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the leading tokens two prompts have in common."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:
        return limit
    low, high = 0, limit  # the first `low` tokens agree, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


class Prefixes:
    """The prompts whose rows are live, by slot."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._held: list[list[int]] = [[] for _ in range(slots)]
        self._used = [0] * slots
        self._clock = 0

    def held(self, slot: int) -> Sequence[int]:
        """Return the prompt whose rows the slot holds."""
        return tuple(self._held[slot])

    def begin(self, prompt: Sequence[int]) -> Plan:
        """Choose a slot for a prompt and forget what it will overwrite.

        The longest shared prefix is reused. It is extended in place if most of its slot survives;
        otherwise it is copied over the slot unused for longest, so that both stay live.
        """
        tokens = list(prompt)
        shared = [shared_length(held, tokens) for held in self._held]
        source = max(range(len(shared)), key=lambda slot: (shared[slot], -self._used[slot]))
        reuse = max(0, min(shared[source], len(tokens) - KEPT_BACK))
        slot = source
        if 2 * reuse < len(self._held[source]):
            slot = min(range(len(shared)), key=lambda each: self._used[each])
        self._held[slot] = tokens[:reuse]
        self._clock += 1
        self._used[slot] = self._clock
        return Plan(slot=slot, source=source, reuse=reuse)

    def commit(self, slot: int, prompt: Sequence[int]) -> None:
        """Record that all rows of the prompt have been computed.

        Rows written by decoding are never recorded: they come from other kernels than a prompt's.
        """
        self._held[slot] = list(prompt)


def chunks(start: int, end: int, *, size: int) -> list[tuple[int, int]]:
    """Cut rows start..end into chunks of at most ``size``, none of one row unless all are."""
    bounds = [*range(start, end, size), end]
    if len(bounds) > 2 and bounds[-1] - bounds[-2] == 1:
        bounds[-2] -= 1
    return list(pairwise(bounds))
