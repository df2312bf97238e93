"""OpenAI-format messages as Haystack's, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.policies.adapters.conversion import Conversion
from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    arguments,
    image_url,
    object_call,
    part_text,
    parts_of,
    plain_text,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.transcript.messages import Message, tool_calls
from pytest_ctxguard.transcript.parts import content, data_url, text

PIP = "haystack-ai>=3.4"
PLACE = "ctxguard_place"  # key of a message's meta, which compactors carry over


def _all_made(messages: Sequence[Message], places: Iterable[int]) -> Iterator[tuple[Any, int]]:
    """Yield the messages at some places of a history as Haystack's, each with its place.

    Parts other than text and ``data:`` images stand as their kind in brackets.
    """
    shapes = require("haystack.dataclasses", adapter="haystack", pip=PIP)
    calls = {call.get("id"): call for message in messages for call in tool_calls(message)}
    for place in places:
        yield _made(shapes, messages[place], {PLACE: place}, calls), place


def _key(message: Any) -> Hashable:
    """Return what stays the same in a message that a compactor edited."""
    meta = getattr(message, "meta", None)
    return meta[PLACE] if isinstance(meta, dict) and PLACE in meta else ("new", id(message))


def _back(message: Any) -> list[Message]:
    """Convert one message of Haystack's; results of several calls become several messages.

    Raises:
        PolicyError: it is none.
    """
    role = getattr(getattr(message, "role", None), "value", None)
    if role is None or not hasattr(message, "tool_call_results"):
        raise unknown(message, adapter="haystack")
    if message.tool_call_results:
        return [_result(result) for result in message.tool_call_results]
    parts = [*map(text, message.texts), *map(_image, message.images)]
    found: dict[str, Any] = {"role": role, "content": content(parts)}
    if message.tool_calls:
        found["tool_calls"] = [
            object_call(call.id, call.tool_name, arguments=call.arguments)
            for call in message.tool_calls
        ]
    elif not parts:
        found["content"] = ""
    if message.name is not None:
        found["name"] = message.name
    if message.reasoning is not None:
        found["reasoning_content"] = message.reasoning.reasoning_text
    return [found]


def _result(result: Any) -> Message:
    value = result.result
    if not isinstance(value, str):
        value = content([_image(p) if hasattr(p, "base64_image") else text(p.text) for p in value])
    made = {"role": "tool", "tool_call_id": result.origin.id, "content": value}
    return {**made, "is_error": True} if result.error else made


def _image(part: Any) -> dict[str, Any]:
    url = data_url(part.mime_type or "image/jpeg", part.base64_image)
    return {"type": "image_url", "image_url": {"url": url}}


def _made(
    shapes: Any, message: Message, meta: dict[str, Any], calls: Mapping[Any, Mapping[str, Any]]
) -> Any:
    role, plain = message.get("role"), plain_text(message)
    name = message.get("name")
    if role == "user":
        parts = [_part(shapes, part) for part in parts_of(message)]
        parts = parts or [shapes.TextContent("")]
        return shapes.ChatMessage.from_user(content_parts=parts, name=name, meta=meta)
    if role == "assistant":
        return shapes.ChatMessage.from_assistant(
            text=None if message.get("content") is None else plain,
            name=name,
            tool_calls=[_call(shapes, call) for call in tool_calls(message)],
            reasoning=message.get("reasoning_content"),
            meta=meta,
        )
    if role == "tool":
        call_id = message.get("tool_call_id")
        called = {"function": {"name": name or UNNAMED}, **calls.get(call_id, {}), "id": call_id}
        result: Any = message.get("content")
        if isinstance(result, list):
            result = [_part(shapes, part) for part in parts_of(message)]
        return shapes.ChatMessage.from_tool(
            tool_result=plain if result is None else result,
            origin=_call(shapes, called),
            error=bool(message.get("is_error")),
            meta=meta,
        )
    return shapes.ChatMessage.from_system(text=plain, name=name, meta=meta)


def _call(shapes: Any, call: Mapping[str, Any]) -> Any:
    name = (call.get("function") or {}).get("name") or UNNAMED
    return shapes.ToolCall(tool_name=name, arguments=arguments(call), id=call.get("id"))


def _part(shapes: Any, part: dict[str, Any]) -> Any:
    url = image_url(part) or ""
    head, comma, data = url.partition(";base64,")
    if head.startswith("data:") and comma:
        return shapes.ImageContent(data, mime_type=head[len("data:") :], validation=False)
    return shapes.TextContent(part_text(part))


CONVERSION = Conversion(adapter="haystack", made=_all_made, back=_back, key=_key)
