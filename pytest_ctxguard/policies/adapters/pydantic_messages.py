"""OpenAI-format messages as those of Pydantic AI, and back.

A ``ModelRequest`` holds what comes before a response in parts: system and user prompts, the results
of a whole round. What is converted here one by one is a *piece*: such a part, or a
``ModelResponse``.
"""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    call_names,
    function_call,
    image_url,
    object_call,
    part_text,
    parts_of,
    plain_text,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.transcript.messages import Message, is_instruction, tool_calls
from pytest_ctxguard.transcript.parts import content, text

ADAPTER, PIP = "pydantic_ai", "pydantic-ai-slim>=2.62"
PLACE = "ctxguard_place"  # key of metadata, which is never sent


def pieces(messages: Sequence[Message], places: Iterable[int]) -> Iterator[tuple[Any, int]]:
    """Yield the messages at some places of a history as pieces, each with its place.

    Parts other than text and images stand as their kind in brackets.
    """
    shapes = require("pydantic_ai.messages", adapter=ADAPTER, pip=PIP)
    names = call_names(messages)
    for place in places:
        message = messages[place]
        if message.get("role") == "assistant":
            yield _response(shapes, message, place), place
        else:
            yield _part(shapes, message, place, names), place


def requests(made: Iterable[Any]) -> list[Any]:
    """Put pieces together: all parts between two responses are one request."""
    shapes = require("pydantic_ai.messages", adapter=ADAPTER, pip=PIP)
    messages: list[Any] = []
    for piece in made:
        if isinstance(piece, shapes.ModelResponse):
            messages.append(piece)
        elif messages and isinstance(messages[-1], shapes.ModelRequest):
            messages[-1] = shapes.ModelRequest(parts=[*messages[-1].parts, piece])
        else:
            messages.append(shapes.ModelRequest(parts=[piece]))
    return messages


def taken_apart(messages: Iterable[Any]) -> Iterator[Any]:
    """Yield the pieces of messages.

    Raises:
        PolicyError: one of them is no message of Pydantic AI's.
    """
    for message in messages:
        kind = getattr(message, "kind", None)
        if kind == "response":
            yield message
        elif kind == "request":
            yield from message.parts
        else:
            raise unknown(message, adapter=ADAPTER)


def in_order(made: Iterable[Any]) -> list[Any]:
    """Return pieces with the results of each round in the history's order; agents sort them."""
    ordered: list[Any] = []
    for results, run in itertools.groupby(made, key=lambda p: _place(p) >= 0):
        round_of = list(run)
        ordered += sorted(round_of, key=_place) if results else round_of
    return ordered


def _place(piece: Any) -> int:
    """Return where a result stands in the history; -1 for anything else."""
    found = key(piece) if getattr(piece, "part_kind", None) == "tool-return" else None
    return found if isinstance(found, int) else -1


def key(piece: Any) -> Hashable:
    """Return what stays the same in a piece that a policy edited."""
    metadata = getattr(piece, "metadata", None)
    if isinstance(metadata, dict) and PLACE in metadata:
        return int(metadata[PLACE])
    return "new", id(piece)


def back(piece: Any) -> list[Message]:
    """Convert one piece; a part that only Pydantic AI itself reads is no message.

    Raises:
        PolicyError: it is none.
    """
    kind = getattr(piece, "part_kind", None) or getattr(piece, "kind", None)
    if kind == "response":
        return [_answer(piece)]
    if kind == "system-prompt":
        return [{"role": "system", "content": piece.content}]
    if kind == "user-prompt":
        return [{"role": "user", "content": _content(piece.content)}]
    if kind == "compaction":
        return [{"role": "user", "content": _summary(piece)}]
    if kind == "tool-return":
        made = {"role": "tool", "tool_call_id": piece.tool_call_id, "content": _result(piece)}
        return [{**made, "is_error": True} if piece.outcome == "failed" else made]
    if kind in ("retry-prompt", "retry-feedback"):
        called = getattr(piece, "tool_name", None)
        made = {"content": piece.model_response()}
        if called:
            return [{"role": "tool", "tool_call_id": piece.tool_call_id, **made}]
        return [{"role": "user", **made}]
    if str(kind).startswith(("instruction", "tool-availability", "model-settings")):
        return []
    raise unknown(piece, adapter=ADAPTER)


def _summary(part: Any) -> str:
    """Return a summary as the models of Pydantic AI send it, without the line before it."""
    return f"<conversation_summary>\n{part.content or ''}\n</conversation_summary>"


def _answer(response: Any) -> Message:
    said, thought, calls = [], [], []
    for part in response.parts:
        kind = part.part_kind
        if kind == "tool-call":
            calls.append(_call(part))
        elif kind == "thinking":
            thought.append(part.content)
        elif kind == "compaction":
            said.append(_summary(part))
        else:
            said.append(part.content if kind == "text" else f"[{kind}]")
    made: dict[str, Any] = {"role": "assistant", "content": "".join(said) if said else None}
    if calls:
        made["tool_calls"] = calls
    if thought:
        made["reasoning_content"] = "".join(thought)
    return made


def _call(part: Any) -> dict[str, Any]:
    if isinstance(part.args, str):  # as it was recorded
        return function_call(part.tool_call_id, part.tool_name, arguments=part.args)
    return object_call(part.tool_call_id, part.tool_name, arguments=part.args or {})


def _result(part: Any) -> Any:
    if isinstance(part.content, str):
        return part.content
    if isinstance(part.content, list):
        return _content(part.content)
    return part.model_response_str()


def _content(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return content([made for item in value for made in _item(item)])


def _item(item: Any) -> Iterator[dict[str, Any]]:
    kind = getattr(item, "kind", None)
    if isinstance(item, str):
        yield text(item)
    elif kind == "text-content":
        yield text(item.content)
    elif kind == "image-url":
        yield {"type": "image_url", "image_url": {"url": item.url}}
    elif kind == "binary" and item.media_type.startswith("image/"):
        yield {"type": "image_url", "image_url": {"url": item.data_uri}}
    elif kind != "cache-point":
        yield text(f"[{kind or type(item).__name__}]")


def _response(shapes: Any, message: Message, place: int) -> Any:
    parts: list[Any] = []
    if message.get("reasoning_content"):
        parts.append(shapes.ThinkingPart(str(message["reasoning_content"])))
    if message.get("content") is not None:
        parts.append(shapes.TextPart(plain_text(message)))
    for call in tool_calls(message):
        function = call.get("function") or {}
        parts.append(
            shapes.ToolCallPart(
                function.get("name") or UNNAMED,
                function.get("arguments"),
                tool_call_id=str(call.get("id")),
            )
        )
    return shapes.ModelResponse(parts=parts, metadata={PLACE: place})


def _part(shapes: Any, message: Message, place: int, names: dict[Any, str]) -> Any:
    metadata = {PLACE: place}
    if is_instruction(message):
        return shapes.SystemPromptPart(plain_text(message), metadata=metadata)
    given = message.get("content")
    value: Any = plain_text(message)
    if isinstance(given, list):
        value = [_shown(shapes, part) for part in parts_of(message)]
    if message.get("role") == "tool":
        call_id = message.get("tool_call_id")
        return shapes.ToolReturnPart(
            names.get(call_id) or message.get("name") or UNNAMED,
            value,
            tool_call_id=str(call_id),
            outcome="failed" if message.get("is_error") else "success",
            metadata=metadata,
        )
    return shapes.UserPromptPart(value)


def _shown(shapes: Any, part: dict[str, Any]) -> Any:
    url = image_url(part)
    if url is None:
        return part_text(part)
    head, comma, data = url.partition(";base64,")
    if not head.startswith("data:") or not comma:
        return shapes.ImageUrl(url)
    try:
        return shapes.BinaryContent(base64.b64decode(data), media_type=head[len("data:") :])
    except (ValueError, binascii.Error):
        return part_text(part)
