"""Where each message of a request came from."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True)
class Origin:
    """The history index a message came from (``None``: inserted) and whether it was edited."""

    index: int | None
    edited: bool = False


def trace(
    output: Sequence[Message], given: Sequence[Message], history: Sequence[Message]
) -> tuple[tuple[Message, ...], tuple[Origin, ...]]:
    """Find the origin of each message a policy returned.

    A message is matched by identity, then by equality, then (tool results) by the call it
    answers.

    Args:
        output: what the policy returned.
        given: the copy of the history it was given; its dicts may come back.
        history: the recorded messages, untouched.

    Returns:
        The messages as values that no later call can change, and their origins.
    """
    by_identity = {id(message): index for index, message in enumerate(given)}
    by_value: dict[str, list[int]] = {}
    by_call: dict[Any, int] = {}
    if any(id(message) not in by_identity for message in output):
        for place, message in enumerate(history):
            by_value.setdefault(_key(message), []).append(place)
            if message.get("role") == "tool":
                by_call[message.get("tool_call_id")] = place
    messages, origins = [], []
    last = -1
    for message in output:
        index: int | None = by_identity.get(id(message))
        if index is None:
            index = _nearest(by_value.get(_key(message), ()), last)
        if index is None and message.get("role") == "tool":
            index = by_call.get(message.get("tool_call_id"))
        edited = index is not None and message != history[index]
        origins.append(Origin(index, edited))
        messages.append(copy.deepcopy(message) if index is None or edited else history[index])
        last = last if index is None else index
    return tuple(messages), tuple(origins)


def _key(message: Message) -> str:
    return json.dumps(message, sort_keys=True, default=repr)


def _nearest(candidates: Sequence[int], last: int) -> int | None:
    """Return the first candidate after the last match, so that repeats keep their order."""
    after = [index for index in candidates if index > last]
    return after[0] if after else candidates[0] if candidates else None


def unchanged(messages: Sequence[Message], history: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a request carries exactly the history."""
    return len(messages) == len(history) and all(
        a is b or a == b for a, b in zip(messages, history, strict=True)
    )
