"""A session put through a provider's prompt cache: what each call reads, writes, and why not more.

A simulation of the published rules, for one client alone: routing between machines, eviction under
load and what other sessions leave in the cache are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.caches import Cache, View, open_cache
from pytest_ctxguard.prefix.changes import Change, compare
from pytest_ctxguard.prefix.prompts import Level, Prompter
from pytest_ctxguard.prefix.rules import Rule
from pytest_ctxguard.prefix.sent import Part, Parts, Sent, as_json, has_images
from pytest_ctxguard.tokens.buckets import Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedCall:
    """What one call takes of the cache and leaves in it, in tokens; together: the request.

    Attributes:
        call: its number.
        at: seconds since the first call.
        read: cached tokens.
        written: tokens that go into the cache.
        plain: tokens that do neither.
        output: tokens of the answer.
        miss: why it did not read all of the request before it; empty if it did.
    """

    call: int
    at: float
    read: int
    written: int
    plain: int
    output: int
    miss: str = ""

    @property
    def tokens(self) -> int:
        """The whole request."""
        return self.read + self.written + self.plain


@dataclass(frozen=True, slots=True)
class Simulation:
    """A session in a provider's cache.

    Attributes:
        rule: the rules.
        calls: one per request.
        level: whether tokens were compared, or messages as a whole.
        times: where the times of the calls are from.
    """

    rule: Rule
    calls: tuple[CachedCall, ...]
    level: Level
    times: str


def simulate(
    requests: Sequence[Sent],
    *,
    rule: Rule,
    counter: Counter,
    pace: float | None = None,
) -> Simulation:
    """Put requests through a cache.

    Args:
        requests: in the order in which they were sent.
        rule: the provider's rules.
        counter: exact counter of requests.
        pace: seconds from one call to the next; ``None``: as recorded, and if times are not on
            record all at once.

    Raises:
        UsageError: there is no request, or the pace is no number of 0 or more.
    """
    if not requests:
        raise UsageError("a simulation of a cache needs at least one request")
    clock, times = _clock(requests, pace)
    prompter = Prompter(counter, order=rule.order)
    parts = Parts()
    split = [parts.of(sent, order=rule.order) for sent in requests]
    compared = compare(requests, split, prompter=prompter)
    changed: Iterator[Change | None] = chain((None,), compared)
    views = _views(requests, split, clock, rule=rule, prompter=prompter)
    caches: dict[str, Cache] = {}
    calls: list[CachedCall] = []
    before: Sent | None = None
    for view, sent, change in zip(views, requests, changed, strict=True):
        found = caches.setdefault(sent.model, open_cache(rule)).take(view)
        miss = found.why or _miss(before, sent, change, rule=rule)
        calls.append(
            CachedCall(
                call=len(calls),
                at=view.now,
                read=found.read,
                written=found.written,
                plain=len(view.ids) - found.read - found.written,
                output=sent.output,
                miss=miss,
            )
        )
        before = sent
    return Simulation(rule, tuple(calls), prompter.level, times)


def _clock(requests: Sequence[Sent], pace: float | None) -> tuple[list[float], str]:
    if pace is not None:
        if isinstance(pace, bool) or not isinstance(pace, int | float) or not 0 <= pace < 1e12:
            raise UsageError(f"pace={pace!r}: a pace is a number of seconds of 0 or more")
        return [call * float(pace) for call in range(len(requests))], f"a call every {pace:g} s"
    recorded = [sent.at for sent in requests]
    first = recorded[0]
    known = [at - first for at in recorded if at is not None and first is not None]
    if len(known) == len(requests) and known == sorted(known):
        return known, "as recorded"
    why = (
        "times on record are not in order" if len(known) == len(requests) else "no times on record"
    )
    return [0.0] * len(requests), f"{why}: all calls at once"


def _views(
    requests: Sequence[Sent],
    split: Sequence[Sequence[Part]],
    clock: Sequence[float],
    *,
    rule: Rule,
    prompter: Prompter,
) -> Iterator[View]:
    by_hand = any(block.marked for each in split for part in each for block in part.blocks)
    by_hand = by_hand or any(sent.marks for sent in requests)
    for sent, own, now in zip(requests, split, clock, strict=True):
        ids = prompter.ids(sent)
        blocks: tuple[str, ...] = ()
        ends: tuple[int, ...] = ()
        marks: tuple[int, ...] = ()
        if rule.match == "breakpoints":
            blocks = tuple(_blocks(own, void=_void(sent, rule)))
            ends = tuple(_ends(own, prompter.sizes(sent)))
            marks = tuple(_marked(own, sent.marks) if by_hand else _automatic(own, rule))
        yield View(
            ids=ids,
            with_answer=prompter.with_answer(sent) if rule.keeps_output else ids,
            blocks=blocks,
            ends=ends,
            marks=marks,
            now=now,
        )


def _void(sent: Sent, rule: Rule) -> str:
    """Return the settings on which what is kept of the messages depends."""
    known = {**sent.settings, "images": has_images(sent.messages)}
    return as_json({key: known.get(key) for key in rule.void_messages})


def _blocks(parts: Sequence[Part], *, void: str) -> Iterator[str]:
    for part in parts:
        for block in part.blocks:
            yield f"{void}{block.text}" if part.section == "messages" else block.text


def _ends(parts: Sequence[Part], sizes: Sequence[int]) -> Iterator[int]:
    """Yield the tokens up to each block; within a message they are shared out by characters."""
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        lengths = [len(block.text) for block in part.blocks]
        total, so_far = sum(lengths), 0
        for length in lengths:
            so_far += length
            yield start + size * so_far // max(1, total)
        start += size


def _marked(parts: Sequence[Part], messages: Sequence[int] | None) -> Iterator[int]:
    """Yield the marked blocks; of a message known to have had a mark, the last unless one has it.

    Args:
        parts: of the request.
        messages: indices of the messages that had a mark; ``None``: it is on them.
    """
    start = 0
    for part in parts:
        marked = [index for index, block in enumerate(part.blocks, start) if block.marked]
        start += len(part.blocks)
        if messages is None or part.section == "tools":
            yield from marked
        elif part.index in messages:
            yield from marked or [start - 1]


def _automatic(parts: Sequence[Part], rule: Rule) -> list[int]:
    sections = [part.section for part in parts for _ in part.blocks]
    last: dict[str, int] = {section: index for index, section in enumerate(sections)}
    if sections:
        last["last"] = len(sections) - 1
    return sorted({last[name] for name in rule.automatic if name in last})


def _miss(before: Sent | None, sent: Sent, change: Change | None, *, rule: Rule) -> str:
    """Say why the request before was not read whole, where no rule of the cache is the reason."""
    if before is None or change is None:
        return "first call"
    if before.model != sent.model:
        return f"another model: {before.model or 'unnamed'}, then {sent.model or 'unnamed'}"
    if change.kind == "new session":
        return "new session"
    if change.breaks:
        place = change.where or "the request is a beginning of the one before"
        return f"{place}: {change.why}" if change.why else place
    one = {**before.settings, "images": has_images(before.messages)}
    other = {**sent.settings, "images": has_images(sent.messages)}
    void = [key for key in rule.void_messages if one.get(key) != other.get(key)]
    return f"{', '.join(void)} changed" if void else ""
