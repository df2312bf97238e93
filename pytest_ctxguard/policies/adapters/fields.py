"""What adapters ask of OpenAI-format messages, for frameworks that have fewer kinds of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message, tool_calls
from pytest_ctxguard.transcript.parts import Part

UNNAMED = "tool"  # frameworks demand a name even of a result whose call is not there


def parts_of(message: Message) -> list[Part]:
    """Return the content of a message as parts."""
    content = message.get("content")
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": p} if isinstance(p, str) else p for p in content]


def part_text(part: Part) -> str:
    """Return the text of a part; any other part is its kind in brackets, for want of a place."""
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('of') or part.get('type')}]"


def plain_text(message: Message) -> str:
    """Return a message's content as one text; see :func:`part_text` for what is none."""
    return "".join(part_text(part) for part in parts_of(message))


def image_url(part: Part) -> str | None:
    """Return the address of an image part, or ``None`` if it is none."""
    image = part.get("image_url") if part.get("type") == "image_url" else None
    url = image.get("url") if isinstance(image, Mapping) else image
    return url if isinstance(url, str) else None


def arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments; what is no JSON object stands whole under ``arguments``."""
    text = (call.get("function") or {}).get("arguments")
    try:
        value = json.loads(text or "{}")
    except (TypeError, ValueError):
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}


def call_names(messages: Sequence[Message]) -> dict[Any, str]:
    """Return the name of the tool behind each call id."""
    return {
        call.get("id"): str((call.get("function") or {}).get("name") or UNNAMED)
        for message in messages
        for call in tool_calls(message)
    }


def function_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a tool call of OpenAI's format."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def object_call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return a tool call of a framework that keeps arguments as an object."""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    return function_call(call_id, name, arguments=text)


def groups(messages: Sequence[Message], start: int) -> Iterator[range]:
    """Yield the messages from ``start`` on one by one, but the results of a round together."""
    while start < len(messages):
        stop = start + 1
        if messages[start].get("role") == "tool":
            while stop < len(messages) and messages[stop].get("role") == "tool":
                stop += 1
        yield range(start, stop)
        start = stop
