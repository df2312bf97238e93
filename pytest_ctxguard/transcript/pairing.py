"""Which tool result answers which tool call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.transcript.messages import Message, tool_calls


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs of a list of messages.

    Attributes:
        answered: (index of the assistant message, position of the call in it) -> index of the
            result.
        unanswered: calls without a result, by the same key: the turn was aborted, or the
            recording ends there.
        orphans: indices of results that answer no earlier call, or a call answered before.
    """

    answered: dict[tuple[int, int], int]
    unanswered: tuple[tuple[int, int], ...]
    orphans: tuple[int, ...]


def pair(messages: Sequence[Message]) -> Pairing:
    """Match results to calls by id; of several open calls with one id, to the oldest."""
    open_calls: dict[str | None, list[tuple[int, int]]] = {}
    answered: dict[tuple[int, int], int] = {}
    orphans: list[int] = []
    for index, message in enumerate(messages):
        for position, call in enumerate(tool_calls(message)):
            open_calls.setdefault(call.get("id"), []).append((index, position))
        if message.get("role") == "tool":
            waiting = open_calls.get(message.get("tool_call_id"))
            if waiting:
                answered[waiting.pop(0)] = index
            else:
                orphans.append(index)
    unanswered = sorted(key for keys in open_calls.values() for key in keys)
    return Pairing(answered, tuple(unanswered), tuple(orphans))
