"""A framework's messages and ours: the way there, the way back, and policies that see it whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.framework import then
from pytest_ctxguard.policies.adapters.originals import Originals
from pytest_ctxguard.policies.protocol import Policy, bind
from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """How a framework's messages are made from a history, and read.

    Attributes:
        adapter: the adapter's name in ``pytest_ctxguard.adapt``.
        made: converts the messages at some places of a history; yields each with its place.
        back: converts one message of the framework, as far as it can; a PolicyError if it is none.
        key: what stays the same in a message that a policy edited, see :class:`Originals`.
    """

    adapter: str
    made: Callable[[Sequence[Message], Iterable[int]], Iterable[tuple[Any, int]]]
    back: Callable[[Any], list[Message]]
    key: Callable[[Any], Hashable] = id

    def table(self) -> Table:
        """Return an empty table of a history's messages."""
        return Table(self, Originals(self.back, key=self.key))


@dataclass(frozen=True, slots=True)
class Table:
    """The framework's messages of one history, and the way back."""

    conversion: Conversion
    originals: Originals[Any]

    def made(self, history: Sequence[Message], places: Iterable[int]) -> list[Any]:
        """Convert the messages at some places of the history."""
        return [
            self.originals.enter(message, place)
            for message, place in self.conversion.made(history, places)
        ]

    def restored(self, returned: Any, history: Sequence[Message]) -> list[Message]:
        """Convert what a policy returned.

        Raises:
            PolicyError: it is not a list of the framework's messages.
        """
        if not isinstance(returned, Sequence) or isinstance(returned, str | bytes):
            raise PolicyError(
                f"adapt.{self.conversion.adapter}: the policy returned {type(returned).__name__}, "
                "not a list of messages. Remedy: return the messages to send"
            )
        return self.originals.restore(returned, history)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A function of a framework's messages, shown the whole history at every call.

    Attributes:
        func: what the user gave; reports name the policy after it.
        call: the function itself. It is offered ``budget``, ``tools``, and ``count``, which counts
            the framework's messages exactly. It may be async.
        conversion: its framework's.
        may_decline: returning ``None`` means that nothing is to be done.
        read: takes the messages out of what it returns; none: it returns them.
    """

    func: Any
    call: Callable[..., Any]
    conversion: Conversion
    may_decline: bool = False
    read: Callable[[Any], Any] | None = None

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        budget: int | None = None,
        count: Callable[[Sequence[Message]], int] | None = None,
        tools: Sequence[Any] | None = None,
    ) -> list[Message] | Awaitable[list[Message]]:
        """Return the messages to send."""
        table = self.conversion.table()
        given = table.made(messages, range(len(messages)))
        counted = count and (lambda these: count(table.restored(these, messages)))
        policy = bind(self.call, {"budget": budget, "count": counted, "tools": tools})

        def restored(returned: Any) -> list[Message]:
            if self.may_decline and returned is None:
                returned = given
            elif self.read is not None:
                returned = self.read(returned)
            return table.restored(returned, messages)

        return then(policy(list(given)), restored)


@dataclass(frozen=True, slots=True)
class Factory:
    """Makes a policy with the state of one replay.

    Attributes:
        func: what the user gave; reports name the policy after it.
        new: makes the policy.
    """

    func: Any
    new: Callable[[], Policy]

    def __call__(self) -> Policy:
        """Return a new policy."""
        return self.new()
