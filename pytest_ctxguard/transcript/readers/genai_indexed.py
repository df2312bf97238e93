"""Messages as numbered attributes (``gen_ai.prompt.0.content``), as OpenLLMetry wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.readers.checked import name
from pytest_ctxguard.transcript.readers.genai_message import ROLE_OF
from pytest_ctxguard.transcript.wire.typed import mapping

Attributes = Mapping[str, Any]


def indexed_messages(found: Attributes, prefix: str) -> list[dict[str, Any]]:
    """Return the messages whose attributes have a prefix, in order of their numbers.

    Raises:
        ValueError: one has no known role.
    """
    messages = []
    for number, fields in _numbered(found, prefix):
        role = ROLE_OF.get(str(fields.get("role") or "").lower())
        if role is None:
            raise ValueError(f"{prefix}{number}.role must be one of {', '.join(ROLE_OF)}")
        message: dict[str, Any] = {"role": role, "content": _content(fields.get("content"))}
        calls = [_call(call) for _, call in _numbered(fields, "tool_calls.")]
        if calls:
            message["tool_calls"] = calls
        if role == "tool":
            message["tool_call_id"] = name(fields.get("tool_call_id"))
        for key in ("finish_reason", "refusal"):
            if name(fields.get(key)):
                message[key] = fields[key]
        if name(fields.get("reasoning")):
            message["reasoning_content"] = fields["reasoning"]
        messages.append(message)
    return messages


def indexed_tools(found: Attributes, prefix: str) -> tuple[Mapping[str, Any], ...]:
    """Return the tool definitions whose attributes have a prefix.

    Raises:
        ValueError: one has no name.
    """
    tools = []
    for number, fields in _numbered(found, prefix):
        if name(fields.get("name")) is None:
            raise ValueError(f"{prefix}{number}.name is missing")
        function: dict[str, Any] = {"name": fields["name"]}
        if "description" in fields:
            function["description"] = fields["description"]
        parameters = fields.get("parameters", fields.get("input_schema"))
        if parameters is not None:
            function["parameters"] = _parsed(parameters)
        tools.append({"type": "function", "function": function})
    return tuple(tools)


def _numbered(found: Attributes, prefix: str) -> list[tuple[int, dict[str, Any]]]:
    items: dict[int, dict[str, Any]] = {}
    for key, value in found.items():
        number, dot, rest = key.removeprefix(prefix).partition(".")
        if key.startswith(prefix) and dot and number.isdecimal() and len(number) < 10:
            items.setdefault(int(number), {})[rest] = value
    return sorted(items.items())


def _call(fields: Attributes) -> dict[str, Any]:
    arguments = fields.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    function = {"name": str(fields.get("name") or ""), "arguments": arguments}
    return {"id": name(fields.get("id")), "type": "function", "function": function}


def _content(value: Any) -> Any:
    """Return content; a list of parts was written as its JSON text."""
    if not isinstance(value, str):
        return None if value is None else json.dumps(value, ensure_ascii=False)
    listed = _parsed(value) if value.startswith('[{"') else None
    if not isinstance(listed, list):
        return value
    found = []
    for part in map(mapping, listed):
        url = mapping(part.get("image_url")).get("url")
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            found.append(parts.text(part["text"]))
        elif part.get("type") == "image_url" and isinstance(url, str):
            found.append(parts.image(url))
        else:  # a user's own JSON, perhaps: it stays the text that it is
            return value
    return parts.content(found)


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
