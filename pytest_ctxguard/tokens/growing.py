"""Count requests that begin alike, what they have in common once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress, count
from operator import is_not
from typing import Any, Protocol, runtime_checkable

from pytest_ctxguard.tokens.buckets import Counter, Tools
from pytest_ctxguard.tokens.seen import Seen, see
from pytest_ctxguard.transcript.messages import Message

Size = Callable[[Sequence[Message]], int]


@dataclass(frozen=True, slots=True)
class Units:
    """What the tokens of a request are the sum of; a run of tool results is one unit.

    Attributes:
        head: tokens of what stands before the units, by the system message's text.
        unit: tokens of a unit.
        tail: tokens of what follows the last unit.
    """

    head: Callable[[str | None], int]
    unit: Callable[[tuple[Seen, ...]], int]
    tail: int


@runtime_checkable
class UnitCounter(Protocol):
    """A counter that works in units, so that it need not begin anew for each request."""

    def units(self, *, tools: Tools) -> Units:
        """Return what requests with these tools are the sum of."""
        ...


@dataclass(frozen=True, slots=True)
class Sum:
    """What the tokens of a request are the sum of, for a counter of messages one by one.

    Attributes:
        frame: tokens that every request with these tools has.
        message: tokens of a message; it is given the names of the calls so far, by id, and adds
            its own.
    """

    frame: int
    message: Callable[[Message, dict[Any, str]], int]


@runtime_checkable
class SumCounter(Protocol):
    """A counter that adds up messages, so that it need not begin anew for each request."""

    def sum_of(self, *, tools: Tools) -> Sum:
        """Return what requests with these tools are the sum of."""
        ...


def growing(counter: Counter, *, tools: Tools) -> Size:
    """Return what gives the tokens of requests that begin alike, one after the other.

    The messages must not change. A counter that works neither in units nor by message counts each
    of these requests whole.
    """
    if isinstance(counter, UnitCounter):
        return GrowingRequest(counter.units(tools=tools))
    if isinstance(counter, SumCounter):
        return GrowingSum(counter.sum_of(tools=tools))
    return partial(counter.count, tools=tools)


class GrowingRequest:
    """The tokens of requests, for a counter that works in units.

    What a request begins with as the last one did, the same objects, is not looked at again. A
    run of tool results is one unit; it is encoded as far as a request goes.

    Args:
        units: what a request is the sum of.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self._messages: list[Message] = []
        self._seen: list[Seen] = []
        self._before = [0]  # by length: tokens of the units before the run that is still open,
        self._open = [0]  # and the message with which that run begins

    def __call__(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a request."""
        others = compress(count(), map(is_not, messages, self._messages))
        common = next(others, min(len(messages), len(self._messages)))
        del self._messages[common:], self._seen[common:]
        del self._before[common + 1 :], self._open[common + 1 :]
        for index in range(common, len(messages)):
            self._add(messages[index], index)
        system = self._seen[0] if messages and self._seen[0].role == "system" else None
        head = self._units.head(None if system is None else system.text)
        return head + self._before[-1] + self._run(len(messages)) + self._units.tail

    def _add(self, message: Message, length: int) -> None:
        seen = see(message, length)
        if seen.role == "tool":
            self._before.append(self._before[length])
            self._open.append(self._open[length])
        else:
            own = 0 if length == 0 and seen.role == "system" else self._units.unit((seen,))
            self._before.append(self._before[length] + self._run(length) + own)
            self._open.append(length + 1)
        self._messages.append(message)
        self._seen.append(seen)

    def _run(self, length: int) -> int:
        run = tuple(self._seen[self._open[length] : length])
        return self._units.unit(run) if run else 0


class GrowingSum:
    """The tokens of requests, for a counter of messages one by one.

    A request that continues the last one, with the same objects, is counted from there on; one
    that does not begins anew.

    Args:
        parts: what a request is the sum of.
    """

    def __init__(self, parts: Sum) -> None:
        self._parts = parts
        self._begin()

    def __call__(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a request."""
        known = len(self._messages)
        if known > len(messages) or any(map(is_not, messages, self._messages)):
            self._begin()
            known = 0
        for message in messages[known:]:
            self._total += self._parts.message(message, self._called)
            self._messages.append(message)
        return self._total

    def _begin(self) -> None:
        self._messages: list[Message] = []
        self._called: dict[Any, str] = {}
        self._total = self._parts.frame
