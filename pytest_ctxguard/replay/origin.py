"""Where each message of a request came from."""

from __future__ import annotations

import copy
import json
import marshal
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, count
from operator import is_not
from typing import Any, cast

from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True)
class Origin:
    """The history index a message came from (``None``: inserted) and whether it was edited."""

    index: int | None
    edited: bool = False


INSERTED = Origin(None)


def message_key(message: Message) -> str:
    """Return a text that equal messages share."""
    return json.dumps(message, sort_keys=True, default=repr)


def trace(
    output: Sequence[Message],
    given: Sequence[Message],
    history: Sequence[Message],
    *,
    changed: Collection[int],
    index: Callable[[], Index],
    bases: Sequence[Origin],
    uncut: Sequence[Message] = (),
    value: Callable[[Message], Message],
) -> tuple[tuple[Message, ...], tuple[Origin, ...]]:
    """Find the origin of each message a policy returned.

    A message is matched by identity, then by equality, then (tool results) by the call it
    answers.

    Args:
        output: what the policy returned.
        given: the copy of the history it was given; its dicts may come back.
        history: what that is a copy of, untouched.
        changed: which of those dicts the policy changed.
        index: returns the index of the history; asked for only where one is needed.
        bases: where each message of the history came from itself.
        uncut: the recorded messages, where the history is not all of them: a policy may remember
            what was cut.
        value: copies what the policy made.

    Returns:
        The messages as values that no later call can change, and their origins.
    """
    output, changed = tuple(output), frozenset(changed)
    begins = min((_common(output, given), *changed))
    messages, origins = list(history[:begins]), list(bases[:begins])
    rest = output[begins:]
    by_identity = dict(zip(map(id, given), range(len(given)), strict=True)) if rest else {}
    known: Index | None = None
    last = begins - 1
    for message, place in zip(rest, map(by_identity.get, map(id, rest)), strict=True):
        same = place is not None and place not in changed
        if place is None and last + 1 < len(history) and _continues(message, history[last + 1]):
            place = last + 1  # what an index would find, too, but with nothing to build
        if place is not None and (same or message == history[place]):
            messages.append(history[place])
            origins.append(bases[place])
            last = place
            continue
        made = value(message)
        if place is None:
            known = known or index()
            place = known.find(made, last, length=len(history))
        if place is None:
            messages.append(made)
            origins.append(_remembered(made, uncut) if uncut else INSERTED)
            continue
        base, edited = bases[place], made != history[place]
        messages.append(made if edited else history[place])
        origins.append(_edited(base.index) if edited else base)
        last = place
    return tuple(messages), tuple(origins)


@lru_cache(maxsize=1 << 12)
def _edited(index: int | None) -> Origin:
    """Return the origin of what was edited; a session that clears old results has very many."""
    return Origin(index, index is not None)


def _common(output: Sequence[Message], given: Sequence[Message]) -> int:
    """Return how many messages a policy gave back as they came, from the first on."""
    others = compress(count(), map(is_not, output, given))
    return next(others, min(len(output), len(given)))


def _continues(message: Message, following: Message) -> bool:
    """Tell whether a message is the one that follows the last, or that tool result, edited."""
    if message.get("role") != "tool":
        return message == following
    call_id = message.get("tool_call_id")
    same_call = call_id is not None and call_id == following.get("tool_call_id")
    return (same_call and following.get("role") == "tool") or message == following


class Values:
    """The messages that policies made, as values: the same one for what is made again.

    A policy that clears old results makes most of its request anew at each call; copied and
    judged each time, that would take most of a replay.

    Args:
        messages: the transcript's own, which are values already.
    """

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._kept: dict[bytes, Message] = {}
        self._keys: dict[int, str] = {id(message): "" for message in messages}

    def __call__(self, message: Message) -> Message:
        """Return a copy of a message, or the copy there is."""
        written = _written(message)
        kept = None if written is None else self._kept.get(written)
        if kept is None:
            kept = copy.deepcopy(message)
            if written is not None:
                self._kept[written] = kept
                self._keys[id(kept)] = ""
        return kept

    def key(self, value: Message) -> str:
        """Return what equal values have in common; remembered for those kept."""
        key = self._keys.get(id(value))
        if key is None:
            return message_key(value)
        if not key:
            key = self._keys[id(value)] = message_key(value)
        return key


def _written(message: Message) -> bytes | None:
    """Write a message so that only one of the same types, in the same order, is written so.

    Several times faster than JSON; ``None`` where it is no plain dict of plain values.
    """
    try:
        return marshal.dumps(cast(Any, message), 2)  # later versions write by identity, too
    except ValueError:
        return None


class Index:
    """The messages of a growing history by value, and its tool results by the call they answer.

    Args:
        key: gives equal messages the same text.
    """

    def __init__(self, key: Callable[[Message], str] = message_key) -> None:
        self._key, self._length = key, 0
        self._by_value: dict[str, list[int]] = {}
        self._by_call: dict[Any, list[int]] = {}

    def of(self, history: Sequence[Message]) -> Index:
        """Add what a history has beyond those before it; returns itself."""
        for place in range(self._length, len(history)):
            message = history[place]
            self._by_value.setdefault(self._key(message), []).append(place)
            if message.get("role") == "tool":
                self._by_call.setdefault(message.get("tool_call_id"), []).append(place)
        self._length = max(self._length, len(history))
        return self

    def find(self, message: Message, last: int, *, length: int) -> int | None:
        """Find a message in the first ``length`` of the history.

        Returns:
            Of equal ones the first after the last that was found, so that repeats keep their
            order, or the first of all; of results of a call the newest.
        """
        equal = self._by_value.get(self._key(message))
        if equal:
            after = bisect_right(equal, last)
            for place in (*equal[after : after + 1], equal[0]):
                if place < length:
                    return place
        if message.get("role") != "tool":
            return None
        results = self._by_call.get(message.get("tool_call_id"), ())
        before = bisect_left(results, length)
        return results[before - 1] if before else None


def _remembered(message: Message, uncut: Sequence[Message]) -> Origin:
    """Return the origin of a message that was not in the history given, but once was."""
    tool = message.get("role") == "tool"
    for place, was in enumerate(uncut):
        if message == was:
            return Origin(place)
    for place, was in enumerate(uncut if tool else ()):
        if was.get("role") == "tool" and was.get("tool_call_id") == message.get("tool_call_id"):
            return Origin(place, edited=True)
    return INSERTED
