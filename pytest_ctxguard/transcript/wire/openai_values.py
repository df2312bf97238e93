"""What the two OpenAI formats have in common: counts, times, errors, tool definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def objects(value: Any, where: str) -> list[dict[str, Any]]:
    """Return a list of JSON objects; an absent one is empty.

    Raises:
        ValueError: it is no list, or has something else in it.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"`{where}` must be a list")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise ValueError(f"`{where}[{index}]` must be an object")
    return value


def text(value: Any, where: str) -> str:
    """Return a text.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str):
        raise ValueError(f"`{where}` must be text")
    return value


def optional_text(value: Any, where: str) -> str | None:
    """Return a text, or ``None`` where there is nothing; see :func:`text`."""
    return None if value is None else text(value, where)


def argument_text(value: Any) -> str:
    """Return a call's arguments as JSON text; recorded text is kept as it is."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def count(usage: Mapping[str, Any], *path: str) -> int | None:
    """Return a number of tokens out of ``usage``; ``None``: not told.

    Raises:
        ValueError: it is no count.
    """
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"`usage.{'.'.join(path)}` must be a count of tokens, not {value!r}")
    return value


def usage_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``usage`` of a response; empty where it has none.

    Raises:
        ValueError: it is no object.
    """
    usage = body.get("usage")
    if usage is not None and not isinstance(usage, dict):
        raise ValueError("`usage` must be an object")
    return usage or {}


def moment(seconds: Any) -> str | None:
    """Return seconds since 1970 as ISO 8601 in UTC, or ``None`` where that is no time."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def error_text(body: Mapping[str, Any]) -> str | None:
    """Return what an error body of OpenAI, vLLM or a gateway says; ``None``: it is no error."""
    error = body.get("error")
    if error is None and (body.get("object") == "error" or set(body) <= {"message", "detail"}):
        error = body if "message" in body else body.get("detail")
    if not error:
        return None
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def definitions(value: Any, where: str = "tools") -> list[dict[str, Any]]:
    """Return tool definitions in the chat format: all of them have ``function.name``.

    The tools that a provider runs itself have their type for a name, and their settings beside it.

    Raises:
        ValueError: one is no definition.
    """
    return [_definition(tool, f"{where}[{i}]") for i, tool in enumerate(objects(value, where))]


def _definition(tool: dict[str, Any], where: str) -> dict[str, Any]:
    kind = text(tool.get("type", "function"), f"{where}.type")
    function = tool.get("function")
    if function is None and isinstance(tool.get("custom"), dict):
        function = tool["custom"]
    if isinstance(function, dict):
        rest = {k: v for k, v in tool.items() if k not in ("type", "function", "custom")}
        text(function.get("name"), f"{where}.function.name")
        return {"type": kind, "function": function, **rest}
    name = tool.get("name")
    if name is None and kind != "function":
        name = tool.get("server_label") or kind
    rest = {k: v for k, v in tool.items() if k not in ("type", "name")}
    return {"type": kind, "function": {"name": text(name, f"{where}.name"), **rest}}
