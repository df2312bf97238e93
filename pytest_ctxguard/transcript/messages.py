"""Questions about OpenAI-format chat messages, asked everywhere and answered here.

A message is a plain dict, as the user's policy sees it. ``content`` is a string, ``None``,
or a list of parts; only text parts have text.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool")


def content_text(message: Message) -> str:
    """Return the text of a message's content; list content is joined from its text parts."""
    content = message.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)


def tool_calls(message: Message) -> Sequence[Mapping[str, Any]]:
    """Return the tool calls of a message, or an empty sequence."""
    return message.get("tool_calls") or ()


def full_text(message: Message) -> str:
    """Return all a model can read values from: content, then tool-call names and arguments."""
    calls = (call.get("function") or {} for call in tool_calls(message))
    return "\n".join(
        [
            content_text(message),
            *(f"{call.get('name', '')} {call.get('arguments', '')}" for call in calls),
        ]
    )


def copy_json(value: Any) -> Any:
    """Copy a message or a part of one; several times faster than ``deepcopy`` on JSON values.

    A replay copies every history at every call, so this is where its time would go.
    """
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copy_json(item) for item in value)
    return copy.deepcopy(value)


def is_instruction(message: Message) -> bool:
    """Tell whether a message instructs the model: role system or developer."""
    return message.get("role") in ("system", "developer")


def instructions(messages: Sequence[Message]) -> int:
    """Return how many messages at the start instruct the model."""
    return next((i for i, m in enumerate(messages) if not is_instruction(m)), len(messages))


def is_user(message: Message) -> bool:
    """Tell whether a message is a real user message, the start of a turn."""
    return message.get("role") == "user"


def turn_starts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the index of each user message; a turn runs from one to the next."""
    return tuple(i for i, message in enumerate(messages) if is_user(message))


def tool_rounds(messages: Sequence[Message]) -> tuple[range, ...]:
    """Return the tool rounds: each assistant message with tool calls and the results after it.

    A round is indivisible: providers refuse a call without its results and a result without
    its call.
    """
    return tuple(_rounds(messages))


def _rounds(messages: Sequence[Message]) -> Iterator[range]:
    i = 0
    while i < len(messages):
        start, i = i, i + 1
        if tool_calls(messages[start]):
            while i < len(messages) and messages[i].get("role") == "tool":
                i += 1
            yield range(start, i)
