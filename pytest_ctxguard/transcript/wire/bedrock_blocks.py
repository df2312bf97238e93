"""Bedrock Converse's content blocks and tool definitions, in OpenAI chat format.

A ``cachePoint`` marks all that stands before it: it becomes the key ``cache_control``, with its own
value, of the part, call, result or definition before it. Order between the text, the thoughts and
the calls of one message is not kept; see ``anthropic_blocks``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.wire import Body

MEDIA_TYPES = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def messages(role: str, value: Any, place: str) -> Iterator[Message]:
    """Yield what one message becomes: results first, each a tool message, then the rest.

    Raises:
        ValueError: it is not as the Converse API has it; ``place`` is where.
    """
    others: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    thoughts: list[Body] = []
    last: dict[str, Any] | None = None
    for number, block in enumerate(typed.objects(value, place)):
        where = f"{place}[{number}]"
        if "cachePoint" in block and last is not None:
            last["cache_control"] = block["cachePoint"]
            continue
        if "toolUse" in block and role == "assistant":
            last = _call(typed.object_at(block, "toolUse", where), f"{where}.toolUse")
            calls.append(last)
        elif "toolResult" in block and role == "user":
            last = _result(typed.object_at(block, "toolResult", where), f"{where}.toolResult")
            results.append(last)
        elif "reasoningContent" in block and role == "assistant":
            thoughts.append(block)
        else:
            last = part(block, where)
            others.append(last)
    yield from results
    if role == "assistant":
        yield _assistant(others, calls, thoughts)
    elif others or not results:
        yield {"role": role, "content": parts.content(others) or ""}


def tools(value: Any) -> Iterator[dict[str, Any]]:
    """Yield tool definitions as OpenAI has them; a system tool is kept whole under ``bedrock``.

    Raises:
        ValueError: one is not as the Converse API has it.
    """
    last: dict[str, Any] | None = None
    for number, tool in enumerate(typed.objects(value or [], "toolConfig.tools")):
        place = f"toolConfig.tools[{number}]"
        if "cachePoint" in tool and last is not None:
            last["cache_control"] = tool["cachePoint"]
            continue
        if last is not None:
            yield last
        if "toolSpec" in tool:
            last = _function(typed.object_at(tool, "toolSpec", place), f"{place}.toolSpec")
        else:
            kind = next(iter(tool), "tool")
            name = typed.mapping(tool.get(kind)).get("name")
            name = name if isinstance(name, str) else kind
            last = {"type": "function", "function": {"name": name}, "bedrock": tool}
    if last is not None:
        yield last


def part(block: Body, place: str) -> parts.Part:
    """Return a block as a part of content; what OpenAI has no part for becomes an opaque one.

    Raises:
        ValueError: its text is none.
    """
    kind = next(iter(block), "empty")
    if kind == "text":
        return {**typed.rest(block, "text"), **parts.text(typed.text(block, "text", place))}
    if kind == "json":
        return parts.text(json.dumps(block["json"], ensure_ascii=False))
    inner = typed.mapping(block.get(kind))
    source = typed.mapping(inner.get("source"))
    made = None
    if kind in ("image", "audio", "document"):
        made = _media(kind, inner, source)
    elif kind in ("guardContent", "citationsContent"):
        made = _worded(kind, inner)
    return made or parts.opaque(f"bedrock/{kind}", dict(block))


def _assistant(
    others: Sequence[parts.Part], calls: list[dict[str, Any]], thoughts: list[Body]
) -> Message:
    message: dict[str, Any] = {"role": "assistant", "content": parts.content(others) or ""}
    if calls:
        message["content"] = parts.content(others)
        message["tool_calls"] = calls
    if thoughts:
        message["thinking_blocks"] = thoughts
        contents = (typed.mapping(thought["reasoningContent"]) for thought in thoughts)
        texts = [typed.mapping(content.get("reasoningText")).get("text") for content in contents]
        readable = [text for text in texts if isinstance(text, str) and text]
        if readable:
            message["reasoning_content"] = "\n\n".join(readable)
    return message


def _call(use: Body, place: str) -> dict[str, Any]:
    if "input" not in use:
        raise ValueError(f"`{place}.input` is missing; a toolUse block has one")
    value = use["input"]
    # Text stands where the input of a broken-off answer was no JSON yet; see bedrock.assemble.
    arguments = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {
        **typed.rest(use, "toolUseId", "name", "input", "type"),
        "id": typed.text(use, "toolUseId", place),
        "type": "function",
        "function": {"name": typed.text(use, "name", place), "arguments": arguments},
    }


def _result(result: Body, place: str) -> dict[str, Any]:
    blocks = typed.objects(result.get("content") or [], f"{place}.content")
    items = [part(block, f"{place}.content[{n}]") for n, block in enumerate(blocks)]
    message = {
        **typed.rest(result, "toolUseId", "content", "status", "type"),
        "role": "tool",
        "tool_call_id": typed.text(result, "toolUseId", place),
        "content": parts.content(items) or "",
    }
    return {**message, "is_error": True} if result.get("status") == "error" else message


def _function(spec: Body, place: str) -> dict[str, Any]:
    schema = typed.object_at(spec, "inputSchema", place)
    function = {
        "name": typed.text(spec, "name", place),
        "description": spec.get("description"),
        "parameters": schema.get("json"),
        "strict": spec.get("strict"),
    }
    others = typed.rest(spec, "name", "description", "inputSchema", "strict")
    return {**others, "type": "function", "function": typed.rest(function)}


def _media(kind: str, inner: Body, source: Body) -> parts.Part | None:
    form, data = str(inner.get("format") or ""), source.get("bytes")
    others = typed.rest(inner, "format", "source")
    if kind == "image":
        uri = typed.mapping(source.get("s3Location")).get("uri")
        url = parts.data_url(f"image/{form}", data) if isinstance(data, str) else uri
        return {**others, **parts.image(url)} if isinstance(url, str) else None
    if kind == "document" and isinstance(source.get("text"), str):
        about = typed.rest(inner, "source")
        return {**parts.text(source["text"]), "document": about}
    if not isinstance(data, str):
        return None
    if kind == "audio":
        return {**others, "type": "input_audio", "input_audio": {"data": data, "format": form}}
    media_type = MEDIA_TYPES.get(form, "application/octet-stream")
    name = others.pop("name", None)
    file = typed.rest({"filename": name, "file_data": parts.data_url(media_type, data)})
    return {**others, "type": "file", "file": file}


def _worded(kind: str, inner: Body) -> parts.Part | None:
    """Return text that stands inside another block: what a guard checks, what has citations."""
    if kind == "guardContent":
        text = typed.mapping(inner.get("text"))
        if not isinstance(text.get("text"), str):
            return None
        return {**parts.text(text["text"]), "guardContent": typed.rest(text, "text")}
    content = inner.get("content")
    texts = [typed.mapping(b).get("text") for b in content] if isinstance(content, list) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    return {**parts.text("".join(map(str, texts))), **typed.rest(inner, "content", "text", "type")}
