"""OpenAI-format messages as Inspect's, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from pytest_ctxguard.policies.adapters.conversion import Conversion
from pytest_ctxguard.policies.adapters.fields import (
    arguments,
    call_names,
    image_url,
    object_call,
    part_text,
    parts_of,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.transcript.messages import Message, is_instruction, tool_calls, turn_starts
from pytest_ctxguard.transcript.parts import content, text

ADAPTER, PIP = "inspect_ai", "inspect-ai>=0.3.285"
PLACE = "ctxguard_place"  # key of a message's metadata, which copies keep and requests do not carry


def _all_made(messages: Sequence[Message], places: Iterable[int]) -> Iterator[tuple[Any, int]]:
    """Yield the messages at some places of a history as Inspect's, each with its place.

    Those up to the first user message are the sample's input. Parts other than text and images
    stand as their kind in brackets.
    """
    shapes = require("inspect_ai.model", adapter=ADAPTER, pip=PIP)
    names = call_names(messages)
    task = next(iter(turn_starts(messages)), -1)
    for place in places:
        fields: dict[str, Any] = {
            "content": _contents(shapes, messages[place]),
            "id": f"message-{place}",
            "metadata": {PLACE: place},
            "source": "input" if place <= task else None,
        }
        yield _made(shapes, messages[place], fields, names), place


def _key(message: Any) -> Hashable:
    """Return what stays the same in a message that a policy edited."""
    metadata = getattr(message, "metadata", None)
    if isinstance(metadata, dict) and PLACE in metadata:
        return int(metadata[PLACE])
    return "new", id(message)


def _back(message: Any) -> list[Message]:
    """Convert one message of Inspect's.

    Raises:
        PolicyError: it is none.
    """
    role = getattr(message, "role", None)
    if role is None or not hasattr(message, "content"):
        raise unknown(message, adapter=ADAPTER)
    found: dict[str, Any] = {"role": role, "content": message.content}
    if not isinstance(message.content, str):
        thoughts = [c.reasoning for c in message.content if c.type == "reasoning"]
        said = content([_part(c) for c in message.content if c.type != "reasoning"])
        found["content"] = "" if said is None else said
        if thoughts:
            found["reasoning_content"] = "".join(thoughts)
    if role == "assistant" and message.tool_calls:
        found["content"] = found["content"] or None
        found["tool_calls"] = [
            object_call(call.id, call.function, arguments=call.arguments)
            for call in message.tool_calls
        ]
    if role == "tool":
        found["tool_call_id"] = message.tool_call_id
        if message.error is not None:
            found["is_error"] = True
    return [found]


def _part(item: Any) -> dict[str, Any]:
    if item.type == "text":
        return text(item.text)
    if item.type == "image":
        return {"type": "image_url", "image_url": {"url": item.image}}
    return text(f"[{item.type}]")


def _contents(shapes: Any, message: Message) -> Any:
    reasoning = message.get("reasoning_content")
    value = message.get("content")
    if isinstance(value, str) and not reasoning:
        return value
    found = [] if not reasoning else [shapes.ContentReasoning(reasoning=str(reasoning))]
    for part in parts_of(message):
        url = image_url(part)
        found.append(
            shapes.ContentText(text=part_text(part))
            if url is None
            else shapes.ContentImage(image=url)
        )
    return found or ""


def _made(shapes: Any, message: Message, fields: dict[str, Any], names: dict[Any, str]) -> Any:
    role = message.get("role")
    if is_instruction(message):
        return shapes.ChatMessageSystem(**fields)
    if role == "assistant":
        calls = [_call(call) for call in tool_calls(message)]
        return shapes.ChatMessageAssistant(**fields, tool_calls=calls or None)
    if role == "tool":
        call_id = message.get("tool_call_id")
        failed = {"error": _failed()} if message.get("is_error") else {}
        name = names.get(call_id) or message.get("name")
        return shapes.ChatMessageTool(**fields, tool_call_id=call_id, function=name, **failed)
    return shapes.ChatMessageUser(**fields)


def _call(call: Any) -> Any:
    tools = require("inspect_ai.tool", adapter=ADAPTER, pip=PIP)
    name = str((call.get("function") or {}).get("name"))
    return tools.ToolCall(id=str(call.get("id")), function=name, arguments=arguments(call))


def _failed() -> Any:
    tools = require("inspect_ai.tool", adapter=ADAPTER, pip=PIP)
    return tools.ToolCallError("unknown", "")


CONVERSION = Conversion(adapter=ADAPTER, made=_all_made, back=_back, key=_key)
