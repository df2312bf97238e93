"""Count the requests that a growing history makes, each message once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.seen import Seen, see
from pytest_ctxguard.transcript.messages import Message

Size = Callable[[int], int]


@runtime_checkable
class GrowingCounter(Protocol):
    """A counter that need not begin anew for each beginning of a history."""

    def growing(self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]]) -> Size:
        """Return what gives the tokens of the request that the first ``n`` messages make."""
        ...


def growing(
    counter: Counter, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]]
) -> Size:
    """Return what gives the tokens of the request that the first ``n`` messages make.

    The messages must not change. A counter that is no :class:`GrowingCounter` counts each of
    these requests whole.
    """
    if isinstance(counter, GrowingCounter):
        return counter.growing(messages, tools=tools)
    return lambda length: counter.count(messages[:length], tools=tools)


class GrowingRequest:
    """The tokens of a request by the number of its messages, for an encoder that works in units.

    A run of tool results is one unit; it is encoded as far as a request goes.

    Args:
        messages: of the longest request.
        head: tokens of what stands before the units, by the system message's text.
        unit: tokens of a unit.
        tail: tokens of what follows the last unit.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        *,
        head: Callable[[str | None], int],
        unit: Callable[[tuple[Seen, ...]], int],
        tail: int,
    ) -> None:
        self._messages, self._head, self._unit, self._tail = messages, head, unit, tail
        self._seen: list[Seen] = []
        self._before = [0]  # by length: tokens of the units before the run that is still open,
        self._open = [0]  # and the message with which that run begins

    def __call__(self, length: int) -> int:
        """Return the tokens of the request that the first messages make."""
        for index in range(len(self._seen), length):
            self._add(see(self._messages[index], index))
        system = self._seen[0] if length and self._seen[0].role == "system" else None
        head = self._head(None if system is None else system.text)
        return head + self._before[length] + self._run(length) + self._tail

    def _add(self, seen: Seen) -> None:
        length = len(self._seen)
        self._seen.append(seen)
        if seen.role == "tool":
            self._before.append(self._before[length])
            self._open.append(self._open[length])
            return
        own = 0 if length == 0 and seen.role == "system" else self._unit((seen,))
        self._before.append(self._before[length] + self._run(length) + own)
        self._open.append(length + 1)

    def _run(self, length: int) -> int:
        run = tuple(self._seen[self._open[length] : length])
        return self._unit(run) if run else 0
