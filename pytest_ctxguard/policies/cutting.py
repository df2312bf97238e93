"""Where a history may be cut, and what a tool result belongs to: shared by the policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message, tool_calls, tool_rounds, turn_starts
from pytest_ctxguard.transcript.pairing import pair


def cut_points(messages: Sequence[Message], first: int) -> list[int]:
    """Return where a turn may be cut from an index on: anywhere but inside a tool round."""
    inside = {i for tool_round in tool_rounds(messages) for i in tool_round[1:]}
    return [i for i in range(first, len(messages)) if i not in inside]


def turn_numbers(messages: Sequence[Message]) -> list[int]:
    """Return each message's turn, counted from 1; what stands before the first turn has 0."""
    starts = set(turn_starts(messages))
    numbers, turn = [], 0
    for index in range(len(messages)):
        turn += index in starts
        numbers.append(turn)
    return numbers


def calls_of_results(messages: Sequence[Message]) -> dict[int, Mapping[str, Any]]:
    """Return index of a tool result -> the tool call it answers."""
    return {
        result: tool_calls(messages[index])[position]
        for (index, position), result in pair(messages).answered.items()
    }


def called_name(call: Mapping[str, Any]) -> str:
    """Return the name of the tool that a call names."""
    return str((call.get("function") or {}).get("name") or "")


def called_arguments(call: Mapping[str, Any]) -> str:
    """Return a call's arguments, as JSON text."""
    return str((call.get("function") or {}).get("arguments") or "{}")
