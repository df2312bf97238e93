"""Messages as lists of parts (OpenTelemetry's GenAI conventions, from 1.37) as OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.readers.checked import first, name

Part = Mapping[str, Any]

ROLE_OF = {
    **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
    **{"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"},
}
RESULT = ("response", "result")  # the second until conventions 1.37


def chat_messages(item: Any) -> list[dict[str, Any]]:
    """Return what one message is in OpenAI's format: each tool result is a message of its own.

    Raises:
        ValueError: it is no message; says why.
    """
    if not isinstance(item, dict) or not isinstance(item.get("role"), str):
        raise ValueError("a message needs a `role`")
    role = ROLE_OF.get(item["role"].lower())
    if role is None:
        raise ValueError(f"the role {item['role']!r} is not known; roles: {', '.join(ROLE_OF)}")
    given = item.get("parts")
    if given is None and isinstance(item.get("content"), str):  # as some wrote it before parts
        given = [{"type": "text", "content": item["content"]}]
    if not isinstance(given, list):
        raise ValueError("a message needs its `parts`, a list")
    results: list[dict[str, Any]] = []
    found: list[parts.Part] = []
    message: dict[str, Any] = {"role": role, "content": None}
    for index, part in enumerate(given):
        try:
            _take(part, role=role, message=message, found=found, results=results)
        except ValueError as error:
            raise ValueError(f"parts[{index}]: {error}") from error
    message["content"] = parts.content(found)
    for key in ("name", "finish_reason"):
        if name(item.get(key)):
            message[key] = item[key]
    if role == "tool" and results:
        if found:  # text beside results belongs to none of them
            results.append({**message, "role": "user"})
        return results
    bare = not found and set(message) == {"role", "content"}
    return [*results, *([] if results and bare else [message])]


def instruction(value: Any) -> dict[str, Any]:
    """Return a system message of instructions given beside the messages.

    Raises:
        ValueError: they are neither text nor a list of parts.
    """
    if isinstance(value, str):
        return {"role": "system", "content": value}
    if not isinstance(value, list):
        raise ValueError("must be a list of parts")
    return chat_messages({"role": "system", "parts": value})[0]


def _take(
    part: Any,
    *,
    role: str,
    message: dict[str, Any],
    found: list[parts.Part],
    results: list[dict[str, Any]],
) -> None:
    """Take one part into the message it belongs to."""
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise ValueError("a part needs a `type`")
    kind = part["type"]
    if kind == "tool_call" and role == "assistant":
        message.setdefault("tool_calls", []).append(_call(part))
    elif kind == "tool_call_response" and role in ("tool", "user"):
        results.append(_result(part))
    elif kind == "reasoning" and isinstance(part.get("content"), str):
        before = message.get("reasoning_content")
        text = part["content"]
        message["reasoning_content"] = text if before is None else f"{before}\n{text}"
        if set(part) - {"type", "content"}:  # a signature, for example
            message.setdefault("reasoning_items", []).append(part)
    else:
        found.append(_part(kind, part))


def _call(part: Part) -> dict[str, Any]:
    if not isinstance(part.get("name"), str):
        raise ValueError("a tool call needs a `name`")
    if not isinstance(part.get("id"), str | None):
        raise ValueError("the `id` of a tool call is text")
    arguments = part.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    function = {"name": part["name"], "arguments": arguments}
    return {"id": part.get("id"), "type": "function", "function": function}


def _result(part: Part) -> dict[str, Any]:
    if not isinstance(part.get("id"), str | None):
        raise ValueError("the `id` of a tool result is text")
    value = first(part, RESULT)
    if value is not None and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": part.get("id"), "content": value}


def _part(kind: str, part: Part) -> parts.Part:
    modality, media = part.get("modality"), name(part.get("mime_type"))
    content = part.get("content")
    if kind == "text" and isinstance(content, str):
        return parts.text(content)
    if kind == "blob" and isinstance(content, str):
        if modality == "image":
            return parts.image(parts.data_url(media or "image/png", content))
        if modality == "audio" and media:
            audio = {"data": content, "format": media.partition("/")[2]}
            return {"type": "input_audio", "input_audio": audio}
        if modality == "document" and media:
            return {"type": "file", "file": {"file_data": parts.data_url(media, content)}}
    if kind == "uri" and modality == "image" and isinstance(part.get("uri"), str):
        return parts.image(part["uri"])
    if kind == "file" and isinstance(part.get("file_id"), str):
        return {"type": "file", "file": {"file_id": part["file_id"]}}
    return parts.opaque(f"opentelemetry/{kind}", dict(part))
