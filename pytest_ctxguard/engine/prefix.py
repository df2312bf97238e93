"""Which prompts are still in memory, and how much of the next one they cover.

Bookkeeping only; the tensors are in slots. Each slot holds the keys and values of one prompt, from
its first token on, because attention reads them in one piece; prompts with a common beginning
branch by copying it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

KEPT_BACK = 2  # a prompt token computed alone runs other kernels, which round otherwise


@dataclass(frozen=True, slots=True)
class Plan:
    """How to serve a prompt.

    Attributes:
        slot: where its keys and values go; a number not seen before means a new slot.
        source: the slot that has its first ``reuse`` rows; another one than ``slot`` means: copy
            them. None where nothing is reused.
        reuse: rows that need not be computed.
    """

    slot: int
    source: int | None
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


def shared_by_all(prompts: Sequence[Sequence[int]]) -> int:
    """Count the leading tokens that all prompts share, each left with some to compute."""
    shared = min(shared_length(prompts[0], prompt) for prompt in prompts)
    return max(0, min(shared, *(len(prompt) - KEPT_BACK for prompt in prompts)))


class Prefixes:
    """The prompts whose rows are live, by slot, the one unused for longest first."""

    def __init__(self) -> None:
        self._held: dict[int, list[int]] = {}
        self._next = 0

    def held(self, slot: int) -> Sequence[int]:
        """Return the prompt whose rows the slot holds."""
        return tuple(self._held[slot])

    def begin(self, prompt: Sequence[int]) -> Plan:
        """Choose a slot for a prompt and forget what it will overwrite.

        The longest shared prefix is reused; of equals, the one used last. It is extended in place
        if most of its slot survives; otherwise it is copied to a slot of its own, so that both
        stay live.
        """
        tokens = list(prompt)
        reuse, source = 0, None
        for slot, held in self._held.items():
            shared = min(shared_length(held, tokens), len(tokens) - KEPT_BACK)
            if shared > 0 and shared >= reuse:
                reuse, source = shared, slot
        if source is not None and 2 * reuse >= len(self._held[source]):
            chosen = source
        else:
            chosen, self._next = self._next, self._next + 1
        self._held.pop(chosen, None)
        self._held[chosen] = tokens[:reuse] if chosen == source else []  # until they are copied
        return Plan(slot=chosen, source=source, reuse=reuse)

    def commit(self, slot: int, prompt: Sequence[int]) -> None:
        """Record that all rows of the prompt have been computed.

        Rows written by decoding are never recorded: they come from other kernels than a prompt's.
        """
        self._held[slot] = list(prompt)

    def evict(self, *, keep: Collection[int | None]) -> int | None:
        """Forget the slot unused for longest, but for those kept; None if there is no other."""
        for slot in self._held:
            if slot not in keep:
                del self._held[slot]
                return slot
        return None


def chunks(start: int, end: int, *, size: int) -> list[tuple[int, int]]:
    """Cut rows start..end into chunks of at most ``size``, none of one row unless all are."""
    bounds = [*range(start, end, size), end]
    if len(bounds) > 2 and bounds[-1] - bounds[-2] == 1:
        bounds[-2] -= 1
    return list(pairwise(bounds))
