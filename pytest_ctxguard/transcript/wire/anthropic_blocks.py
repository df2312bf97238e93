"""Anthropic's content blocks and tool definitions, in OpenAI chat format.

OpenAI's format keeps no order between the text, the thoughts and the calls of one message: thoughts
and calls are taken out of ``content``, each in its own order. The cache mark of any block is the
key ``cache_control`` of what becomes of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.wire import Body

THINKING = ("thinking", "redacted_thinking")


def messages(role: str, value: Any, place: str) -> Iterator[Message]:
    """Yield what one message of a request becomes.

    A user message with tool results becomes a tool message for each, then a user message with
    whatever else it has.

    Args:
        role: user, assistant or system.
        value: its content, text or blocks.
        place: of the content, for errors.

    Raises:
        ValueError: it is not as the Messages API has it.
    """
    if isinstance(value, str):
        yield {"role": role, "content": value}
        return
    blocks = typed.objects(value, place)
    if role == "assistant":
        yield assistant(blocks, place)
        return
    others: list[parts.Part] = []
    results = 0
    for number, block in enumerate(blocks):
        where = f"{place}[{number}]"
        if role == "user" and block.get("type") == "tool_result":
            yield _result(block, where)
            results += 1
        else:
            others.append(part(block, where))
    if others or not results:
        yield {"role": role, "content": _content(others)}


def assistant(blocks: Sequence[Body], place: str) -> Message:
    """Return the blocks of one answer as an assistant message.

    Thoughts are kept as recorded under ``thinking_blocks``, and what can be read of them as
    ``reasoning_content``.

    Raises:
        ValueError: a block is not as the Messages API has it.
    """
    others: list[parts.Part] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[Body] = []
    for number, block in enumerate(blocks):
        kind = block.get("type")
        if kind == "tool_use":
            calls.append(_call(block, f"{place}[{number}]"))
        elif kind in THINKING:
            thoughts.append(block)
        else:
            others.append(part(block, f"{place}[{number}]"))
    message: dict[str, Any] = {"role": "assistant", "content": _content(others)}
    if calls:
        message["content"] = parts.content(others)
        message["tool_calls"] = calls
    if thoughts:
        message["thinking_blocks"] = thoughts
        readable = [t["thinking"] for t in thoughts if isinstance(t.get("thinking"), str)]
        if any(readable):
            message["reasoning_content"] = "\n\n".join(filter(None, readable))
    return message


def part(block: Body, place: str) -> parts.Part:
    """Return a block as a part of content; what OpenAI has no part for becomes an opaque one.

    Raises:
        ValueError: it has no type, or not what its type needs.
    """
    kind = typed.text(block, "type", place)
    if kind == "text":
        return {**typed.rest(block, "type", "text"), **parts.text(typed.text(block, "text", place))}
    source = typed.mapping(block.get("source"))
    made: parts.Part | None = None
    if kind == "image":
        made = _image(block, source, place)
    elif kind == "document":
        made = _document(block, source, place)
    if made is None:
        made = _opaque(kind, block)
    return made


def tool(definition: Body, place: str) -> dict[str, Any]:
    """Return a tool definition as OpenAI has it.

    What only Anthropic has is kept beside ``function``. A tool without a schema of its own, which
    Anthropic itself defines or runs, is kept whole under ``anthropic``; where it has no name, its
    server or its type serves as one.

    Raises:
        ValueError: it has no name, or its schema is no object.
    """
    others = typed.rest(definition, "type", "name", "description", "input_schema", "strict")
    if "input_schema" in definition and definition.get("type") in (None, "custom"):
        function = {
            "name": typed.text(definition, "name", place),
            "description": definition.get("description"),
            "parameters": typed.object_at(definition, "input_schema", place),
            "strict": definition.get("strict"),
        }
        return {**others, "type": "function", "function": typed.rest(function)}
    names = (definition.get(key) for key in ("name", "mcp_server_name", "type"))
    name = next((n for n in names if isinstance(n, str)), None)
    if name is None:
        raise ValueError(f"`{place}` is no tool definition: it has no `name` and no `type`")
    mark = {k: v for k, v in others.items() if k == "cache_control"}
    whole = {k: v for k, v in definition.items() if k != "cache_control"}
    return {**mark, "type": "function", "function": {"name": name}, "anthropic": whole}


def _call(block: Body, place: str) -> dict[str, Any]:
    if "input" not in block:
        raise ValueError(f"`{place}.input` is missing; a tool_use block has one")
    value = block["input"]
    # Text stands where the input of a broken-off answer was no JSON yet; see anthropic_stream.
    arguments = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {
        **typed.rest(block, "type", "id", "name", "input"),
        "id": typed.text(block, "id", place),
        "type": "function",
        "function": {"name": typed.text(block, "name", place), "arguments": arguments},
    }


def _result(block: Body, place: str) -> Message:
    value = block.get("content")
    if not isinstance(value, str | None):
        blocks = typed.objects(value, f"{place}.content")
        value = _content([part(b, f"{place}.content[{n}]") for n, b in enumerate(blocks)])
    message: dict[str, Any] = {
        **typed.rest(block, "type", "tool_use_id", "content", "is_error"),
        "role": "tool",
        "tool_call_id": typed.text(block, "tool_use_id", place),
        "content": value or "",
    }
    if block.get("is_error"):
        message["is_error"] = True
    return message


def _image(block: Body, source: Body, place: str) -> parts.Part | None:
    others = typed.rest(block, "type", "source")
    if source.get("type") == "base64":
        media_type = typed.text(source, "media_type", f"{place}.source")
        data = typed.text(source, "data", f"{place}.source")
        return {**others, **parts.image(parts.data_url(media_type, data))}
    if source.get("type") == "url":
        return {**others, **parts.image(typed.text(source, "url", f"{place}.source"))}
    return None


def _document(block: Body, source: Body, place: str) -> parts.Part | None:
    """Return a document as a file part, or as text where it is text, the rest of it beside."""
    where = f"{place}.source"
    mark = {k: v for k, v in block.items() if k == "cache_control" and v is not None}
    about = typed.rest(block, "type", "source", "cache_control")
    if source.get("type") == "text":
        about = {**about, "source": typed.rest(source, "data")}
        return {**mark, **parts.text(typed.text(source, "data", where)), "document": about}
    file = {"filename": about.pop("title", None)}
    if source.get("type") == "base64":
        media_type, data = (typed.text(source, key, where) for key in ("media_type", "data"))
        file["file_data"] = parts.data_url(media_type, data)
    elif source.get("type") == "file":
        file["file_id"] = typed.text(source, "file_id", where)
    else:
        return None
    described = {"document": about} if about else {}
    return {**mark, "type": "file", "file": typed.rest(file), **described}


def _opaque(kind: str, block: Body) -> parts.Part:
    data = typed.rest(block, "cache_control")  # without null fields, which clients add
    mark = {k: v for k, v in block.items() if k == "cache_control" and v is not None}
    return {**mark, **parts.opaque(f"anthropic/{kind}", data)}


def _content(items: Sequence[parts.Part]) -> str | list[parts.Part]:
    return parts.content(items) or ""
