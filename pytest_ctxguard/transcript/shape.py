"""What an OpenAI-format chat message and a tool definition must look like to be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript.messages import ROLES


def wrong_with_message(message: Any) -> str | None:
    """Return what keeps a value from being a chat message, with the remedy; ``None``: nothing."""
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        return f"`message` needs a `role`: one of {', '.join(ROLES)}"
    return wrong_within(message)


def wrong_within(message: Mapping[Any, Any]) -> str | None:
    """Return what is wrong with a message beside its role, with the remedy; ``None``: nothing."""
    if not all(isinstance(key, str) for key in message):
        return "its keys must be text"
    if not isinstance(message.get("content"), str | list | None):
        return "`content` must be text, a list of parts, or null"
    if isinstance(message.get("content"), list) and not all(map(is_part, message["content"])):
        return "a part of `content` must be text, or an object with a `type`"
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(map(is_call, calls)):
        return "`tool_calls` must be a list of objects with a `function`; an `id` is text"
    if not isinstance(message.get("tool_call_id"), str | None):
        return "`tool_call_id` must be text, the `id` of a call"
    return None


def is_part(part: Any) -> bool:
    """Tell whether a value can be a part of list content."""
    return isinstance(part, str) or (
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and isinstance(part.get("text"), str | None)
    )


def is_call(call: Any) -> bool:
    """Tell whether a value can be a tool call: a function, and an id, which a result names."""
    return (
        isinstance(call, dict)
        and isinstance(call.get("id"), str | None)
        and isinstance(call.get("function"), dict)
    )


def is_tool(tool: Any) -> bool:
    """Tell whether a value can be a tool definition: a function with a name."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)
