"""Policies that keep what they are told: model contexts, memories, chat histories.

Such an object is told each message once, and asked for the messages to send before each call. A
replay hands a policy the whole history every time, so the adapter tells the object what is new.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.adapters.feed import Feed
from pytest_ctxguard.policies.adapters.originals import Entry, Originals
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript.messages import Message, instructions

# (history, index of its first new message) -> each new message of the framework, with the indices
# of the messages it was made from; without any if no model is ever shown it
Read = Callable[[Sequence[Message], int], Iterable[tuple[Any, Sequence[int]]]]


@dataclass(frozen=True, slots=True)
class Room:
    """How much a request may have, as far as the replay says.

    Attributes:
        budget: most tokens of a request, or ``None``.
        tokens: counts the request that messages of the framework make, or ``None``.
    """

    budget: int | None
    tokens: Callable[[Iterable[Any]], int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """How a kind of object is made, told and asked.

    Attributes:
        adapter: the adapter's name in ``pytest_ctxguard.adapt``.
        needs: imports the framework, or says that it is missing.
        make: the user's factory; it may take the replay's ``summarise``.
        hold: puts the object into what ``tell`` and ``ask`` are given.
        read: converts what is new in a history.
        back: converts one message of the framework to OpenAI's format, as far as it can.
        tell: gives the object one message.
        ask: returns the messages to send; is told how much room there is.
        apart: the system messages at the start never reach the object: the agent keeps them and
            sends them first.
    """

    adapter: str
    needs: Callable[[], object]
    make: Callable[..., Any]
    read: Read
    back: Callable[[Any], Sequence[Message]]
    tell: Callable[[Any, Any], Awaitable[object]]
    ask: Callable[[Any, Room], Awaitable[Iterable[Any]]]
    apart: bool
    hold: Callable[[Any], Any] = lambda made: made


class Told(Originals[Any]):
    """A table of originals that can be copied together with the object that was told them."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Told:
        """Return a table of the messages' copies."""
        twin = Told(back=self.back, key=self.key)
        for entry in self._entries:
            made = copy.deepcopy(entry.made, memo)
            twin._entries.append(Entry(made, entry.places, entry.base))
            twin._by_key[self.key(made)] = twin._entries[-1]
        return twin


@dataclass(slots=True)
class Session:
    """One object and all it was told."""

    object: Any
    feed: Feed
    told: Told


@dataclass(slots=True)
class Kept:
    """A policy around one object of a kind; a deep copy goes its own way from there."""

    store: Store
    session: Session | None = None

    async def __call__(
        self,
        messages: list[dict[str, Any]],
        *,
        budget: int | None = None,
        count: Callable[[list[Message]], int] | None = None,
    ) -> list[Message]:
        """Tell the object what is new and return what it would send."""
        store = self.store
        session = self.session or self._new()
        self.session = None  # half told if this raises: the next call tells all to a new one
        lead = instructions(messages) if store.apart else 0
        start = max(session.feed.new(messages).start, lead)
        for made, places in store.read(messages, start):
            if places:
                session.told.enter(made, *places)
            await store.tell(session.object, made)
        self.session = session

        def restored(sent: Iterable[Any]) -> list[Message]:
            return [*messages[:lead], *session.told.restore(sent, messages)]

        tokens = None if count is None else lambda sent: count(restored(sent))
        return restored(await store.ask(session.object, Room(budget, tokens)))

    def _new(self) -> Session:
        store = self.store
        store.needs()
        return Session(store.hold(store.make()), Feed(store.adapter), Told(back=store.back))

    def __deepcopy__(self, memo: dict[int, Any]) -> Kept:
        """Return a policy with a copy of the object; both make new ones alike."""
        return Kept(self.store, copy.deepcopy(self.session, memo))


def keeping(store: Store) -> Policy:
    """Return a factory of policies, each with an object of its own.

    Raises:
        UsageError: what the user gave for a factory is none.
    """
    name, make = f"adapt.{store.adapter}", store.make
    if not callable(make):
        raise UsageError(
            f"{name} takes a factory, because each replay needs a {type(make).__name__} of its "
            f"own. Remedy: {name}(lambda: …)"
        )

    def adapted() -> Kept:
        return Kept(store)

    def summarising(summarise: Any) -> Kept:
        return Kept(replace(store, make=partial(make, summarise=summarise)))

    adapted.__qualname__ = summarising.__qualname__ = name
    return summarising if "summarise" in signature(make).parameters else adapted
