"""What a chat template reads of a message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.transcript.messages import Message, content_text, tool_calls

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


class Seen(NamedTuple):
    """What a template reads of a message: role, text, and (name, arguments) of each call."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


def see(message: Message, index: int) -> Seen:
    """Return what the template reads of a message."""
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise PolicyError(
            f"message {index} has role {role!r}; a request is made of {', '.join(ROLES)} messages"
        )
    content = message.get("content")
    if type(content) is str and not message.get("tool_calls"):
        return Seen(ROLES[role], content)  # most are such; a replay reads each very often
    try:
        if isinstance(content, Mapping):
            raise TypeError("its content is an object")
        functions = [call.get("function") or {} for call in tool_calls(message)]
        calls = [(str(f.get("name", "")), argument_text(f.get("arguments"))) for f in functions]
        return Seen(ROLES[role], content_text(message), tuple(calls))
    except (TypeError, AttributeError) as error:
        raise PolicyError(
            f"message {index} ({role}) is not an OpenAI message ({error}). `content` is text, a "
            "list of parts or null; `tool_calls` is a list of objects with a `function`."
        ) from error


def argument_text(arguments: Any) -> str:
    """Return tool-call arguments as JSON text; OpenAI carries them so, some clients as objects."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def parse_or_keep(text: str) -> Any:
    """Parse JSON, or return the text unchanged when it is not JSON.

    Templates serialise arguments themselves, so servers parse them first (key order kept).
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
