"""Where each message of a request came from."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True)
class Origin:
    """The history index a message came from (``None``: inserted) and whether it was edited."""

    index: int | None
    edited: bool = False


def message_key(message: Message) -> str:
    """Return a text that equal messages share."""
    return json.dumps(message, sort_keys=True, default=repr)


def trace(
    output: Sequence[Message],
    given: Sequence[Message],
    history: Sequence[Message],
    *,
    bases: Sequence[Origin] | None = None,
    uncut: Sequence[Message] = (),
    key: Callable[[Message], str] = message_key,
    value: Callable[[Message], Message] = copy.deepcopy,
) -> tuple[tuple[Message, ...], tuple[Origin, ...]]:
    """Find the origin of each message a policy returned.

    A message is matched by identity, then by equality, then (tool results) by the call it
    answers.

    Args:
        output: what the policy returned.
        given: the copy of the history it was given; its dicts may come back.
        history: what that is a copy of, untouched.
        bases: where each message of the history came from itself; default: from its own place.
        uncut: the recorded messages, where the history is not all of them: a policy may remember
            what was cut.
        key: gives equal messages of the history the same text.
        value: copies what the policy made.

    Returns:
        The messages as values that no later call can change, and their origins.
    """
    by_identity = {id(message): index for index, message in enumerate(given)}
    index: _Index | None = None
    messages, origins = [], []
    last = -1
    for message in output:
        place = by_identity.get(id(message))
        if place is None and last + 1 < len(history) and _continues(message, history[last + 1]):
            place = last + 1  # what an index would find, too, but with nothing to build
        if place is None:
            index = index or _Index(history, key)
            place = index.find(message, last)
        if place is None:
            messages.append(value(message))
            origins.append(_remembered(message, uncut))
            continue
        edited = message != history[place]
        base = Origin(place) if bases is None else bases[place]
        messages.append(value(message) if edited else history[place])
        origins.append(Origin(base.index, base.index is not None) if edited else base)
        last = place
    return tuple(messages), tuple(origins)


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
    """

    def __init__(self) -> None:
        self._kept: dict[str, Message] = {}

    def __call__(self, message: Message) -> Message:
        """Return a copy of a message, or the copy there is."""
        try:
            text = json.dumps(message)
        except (TypeError, ValueError, RecursionError):  # it may be anything
            return copy.deepcopy(message)
        if self._kept.get(text) != message:  # (1,) and [1] are one in JSON
            self._kept[text] = copy.deepcopy(message)
        return self._kept[text]


class _Index:
    """The messages of a history by value, and its tool results by the call they answer."""

    def __init__(self, history: Sequence[Message], key: Callable[[Message], str]) -> None:
        self._by_value: dict[str, list[int]] = {}
        self._by_call: dict[Any, int] = {}
        for place, message in enumerate(history):
            self._by_value.setdefault(key(message), []).append(place)
            if message.get("role") == "tool":
                self._by_call[message.get("tool_call_id")] = place

    def find(self, message: Message, last: int) -> int | None:
        """Return the first match after the last one, so that repeats keep their order."""
        candidates = self._by_value.get(message_key(message), [])
        after = [index for index in candidates if index > last]
        if after or candidates:
            return after[0] if after else candidates[0]
        if message.get("role") == "tool":
            return self._by_call.get(message.get("tool_call_id"))
        return None


def _remembered(message: Message, uncut: Sequence[Message]) -> Origin:
    """Return the origin of a message that was not in the history given, but once was."""
    tool = message.get("role") == "tool"
    for place, was in enumerate(uncut):
        if message == was:
            return Origin(place)
    for place, was in enumerate(uncut if tool else ()):
        if was.get("role") == "tool" and was.get("tool_call_id") == message.get("tool_call_id"):
            return Origin(place, edited=True)
    return Origin(None)


def unchanged(messages: Sequence[Message], history: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a request carries exactly the history."""
    return len(messages) == len(history) and all(
        a is b or a == b for a, b in zip(messages, history, strict=True)
    )
