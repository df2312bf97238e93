"""Prompt caches as bookkeeping: what of a request is found, and what is kept of it.

Prefixes are paths in a tree of exact steps, so that two are one only if all before them is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from pytest_ctxguard.prefix.differing import common
from pytest_ctxguard.prefix.rules import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A request as a cache is shown it.

    Attributes:
        ids: its tokens.
        with_answer: those, and the answer's.
        blocks: text of each content block; one that a void setting touches holds it.
        ends: tokens up to the end of each block.
        marks: indices of the blocks that are marked, sorted.
        now: seconds.
    """

    ids: Sequence[int]
    with_answer: Sequence[int]
    blocks: Sequence[str]
    ends: Sequence[int]
    marks: Sequence[int]
    now: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a cache comes to on one request.

    Attributes:
        read: tokens found.
        written: tokens kept that were not there.
        why: the rule that kept more from being found; empty: none, the text decides.
    """

    read: int
    written: int
    why: str = ""


class Cache(Protocol):
    """A cache that requests go through in order."""

    def take(self, view: View) -> Found:
        """Look a request up, and keep what the rules say."""
        ...


class Tree:
    """Numbers prefixes: each is one step after another prefix, or after none."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Any], int] = {}

    def path(self, steps: Iterator[Any]) -> Iterator[int]:
        """Yield the number of each prefix of a sequence of steps."""
        at = 0
        for step in steps:
            at = self._numbers.setdefault((at, step), len(self._numbers) + 1)
            yield at


class _Kept:
    """Which prefixes are kept, and until when."""

    def __init__(self, rule: Rule) -> None:
        self._ttl = rule.ttl_seconds
        self._used: dict[int, float] = {}

    def use(self, node: int, now: float) -> None:
        self._used.pop(node, None)  # so that the latest stands last
        self._used[node] = now

    def alive(self, node: int, now: float) -> bool:
        used = self._used.get(node)
        return used is not None and (self._ttl is None or now - used <= self._ttl)

    def latest(self, number: int) -> set[int]:
        return set(islice(reversed(self._used), number))

    def expired(self, node: int, now: float) -> str:
        """Say that a prefix was kept and is not any more; empty if it never was, or still is."""
        used = self._used.get(node)
        if used is None or self.alive(node, now):
            return ""
        return f"expired: unused for {now - used:g} s, kept for {self._ttl:g}"


class PrefixCache:
    """Any beginning of an earlier request, in whole blocks of tokens."""

    def __init__(self, rule: Rule) -> None:
        self._rule, self._tree, self._kept = rule, Tree(), _Kept(rule)
        self._short = False

    def take(self, view: View) -> Found:
        """Find the longest beginning that is kept."""
        rule, size = self._rule, self._rule.granularity
        path = list(self._tree.path(_granules(view.ids, size)))
        depth = _leading(self._kept.alive(node, view.now) for node in path)
        most = max(0, len(view.ids) - rule.always_computed)
        read = min(depth * size, most - most % size)
        why = self._kept.expired(path[depth], view.now) if depth < len(path) else ""
        if read < rule.minimum:
            if read or self._short:
                why = f"below the minimum of {rule.minimum} tokens"
            read = 0
        self._short = len(view.ids) < rule.minimum
        if self._short:
            return Found(0, 0, why)
        kept = view.with_answer if rule.keeps_output else view.ids
        for node in self._tree.path(_granules(kept, size)):
            self._kept.use(node, view.now)
        return Found(read, max(0, len(path) * size - read), why)


class BreakpointCache:
    """Beginnings that end at a marked content block."""

    def __init__(self, rule: Rule) -> None:
        self._rule, self._tree, self._kept = rule, Tree(), _Kept(rule)
        self._short = False

    def take(self, view: View) -> Found:
        """Find the longest entry that a mark looks back to, and write one at each mark."""
        rule, now = self._rule, view.now
        if rule.max_marks is not None and len(view.marks) > rule.max_marks:
            return Found(0, 0, f"refused: {len(view.marks)} cache marks, {rule.max_marks} allowed")
        path = list(self._tree.path(iter(view.blocks)))
        entries = [i for i, node in enumerate(path) if self._kept.alive(node, now)]
        found = max(filter(set(self._seen(view, path)).__contains__, entries), default=None)
        read = 0 if found is None else view.ends[found]
        why = self._why(view, path, entries, found)
        long_enough = [mark for mark in view.marks if view.ends[mark] >= rule.minimum]
        self._short = bool(view.marks) and not long_enough
        for mark in long_enough:
            self._kept.use(path[mark], now)
        if found is not None:
            self._kept.use(path[found], now)
        end = view.ends[long_enough[-1]] if long_enough else 0
        return Found(read, max(0, end - read), why)

    def _seen(self, view: View, path: Sequence[int]) -> Iterator[int]:
        """Yield the blocks at whose ends an entry would be found."""
        rule = self._rule
        latest = None if rule.latest_marks is None else self._kept.latest(rule.latest_marks)
        for mark in view.marks:
            first = 0 if rule.look_back is None else max(0, mark - rule.look_back)
            for block in range(first, mark + 1):
                if latest is None or path[block] in latest:
                    yield block

    def _why(
        self, view: View, path: Sequence[int], entries: Sequence[int], found: int | None
    ) -> str:
        deepest = -1 if found is None else found
        for block in range(len(path) - 1, deepest, -1):
            expired = self._kept.expired(path[block], view.now)
            if expired:
                return expired
            if block in entries:
                back, latest = self._rule.look_back, self._rule.latest_marks
                far = f"no cache mark within {back} blocks after the last entry"
                return far if back is not None else f"not among the latest {latest} entries"
        if found is None and self._short:
            return f"below the minimum of {self._rule.minimum} tokens"
        return ""


class UnitCache:
    """Earlier requests as a whole, and beginnings that two requests were found to share."""

    def __init__(self, rule: Rule) -> None:
        self._rule, self._tree, self._kept = rule, Tree(), _Kept(rule)
        self._known: set[int] = set()

    def take(self, view: View) -> Found:
        """Find the longest unit that the request begins with."""
        path = list(self._tree.path(iter(view.ids)))
        shared = _leading(node in self._known for node in path)
        ends = range(len(path), 0, -1)
        read = next((n for n in ends if self._kept.alive(path[n - 1], view.now)), 0)
        expired = (self._kept.expired(path[n - 1], view.now) for n in ends if n > read)
        why = next(filter(None, expired), "")
        if not why and shared > read:
            why = f"the {shared} tokens shared are no whole unit"
        whole = path
        if self._rule.keeps_output:
            whole = list(self._tree.path(iter(view.with_answer)))
        self._known.update(path, whole)
        for node in (*path[-1:], *whole[-1:], *path[shared - 1 : shared]):
            self._kept.use(node, view.now)
        return Found(read, len(path) - read, why)


class SlotCache:
    """The last request of each slot, as far as a new one begins like it."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._slots: list[tuple[Sequence[int], float]] = []  # the one used last stands last

    def take(self, view: View) -> Found:
        """Choose the slot that is most alike, or the one unused for longest, and go on from it."""
        rule = self._rule
        shared = [common(held, view.ids) for held, _ in self._slots]
        best = max(range(len(shared)), key=lambda i: shared[i], default=None)
        alike = best is not None and shared[best] > rule.similarity * len(view.ids)
        why = ""
        if best is not None and shared[best] and not alike:
            why = f"no slot shares {rule.similarity:.0%} of the request"
        if not alike:
            best = 0 if len(self._slots) == rule.slots else None
        read = 0
        if best is not None:
            _, used = self._slots.pop(best)
            read = max(0, min(shared[best], len(view.ids) - rule.always_computed))
            if rule.ttl_seconds is not None and view.now - used > rule.ttl_seconds:
                why = f"expired: unused for {view.now - used:g} s, kept for {rule.ttl_seconds:g}"
                read = 0
        self._slots.append((view.with_answer if rule.keeps_output else view.ids, view.now))
        return Found(read, len(view.ids) - read, why if not read else "")


def open_cache(rule: Rule) -> Cache:
    """Return an empty cache of a kind."""
    kinds: dict[str, type[Any]] = {
        "prefix": PrefixCache,
        "breakpoints": BreakpointCache,
        "units": UnitCache,
        "slots": SlotCache,
    }
    cache: Cache = kinds[rule.match](rule)
    return cache


def _granules(ids: Sequence[int], size: int) -> Iterator[Any]:
    """Yield whole blocks of tokens; a rest is none."""
    if size == 1:
        return iter(ids)
    return (tuple(ids[i : i + size]) for i in range(0, len(ids) - size + 1, size))


def _leading(flags: Iterator[bool]) -> int:
    """Return how many are true before the first that is not."""
    number = 0
    for flag in flags:
        if not flag:
            break
        number += 1
    return number
