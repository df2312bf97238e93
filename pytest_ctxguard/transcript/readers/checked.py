"""Take values out of a JSON file, and say where one is not what its format needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.shape import wrong_with_message


def objects(document: Document, value: Any, *, where: str) -> tuple[Mapping[str, Any], ...]:
    """Return a list of JSON objects.

    Raises:
        TranscriptError: it is none; the message says where.
    """
    if not isinstance(value, list):
        raise document.fail(f"`{where}` must be a list. Restore it from where it was exported.")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise document.fail(f"`{where}[{index}]` must be an object. Mend or remove it.")
    return tuple(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one for any other value: for facts that may be missing."""
    return value if isinstance(value, dict) else {}


def first(values: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """Return the value of the first of several keys that has one."""
    return next((values[key] for key in keys if values.get(key) is not None), None)


def whole(value: Any) -> int | None:
    """Return a count, or ``None`` for what is none; a count may stand as text (OTLP's do)."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if known else None


def name(value: Any) -> str | None:
    """Return a text that is not empty, or ``None``."""
    return value if isinstance(value, str) and value else None


def add(
    builder: Builder,
    document: Document,
    message: Any,
    *,
    where: str,
    line: int | None = None,
    call: Mapping[str, Any] | None = None,
) -> int:
    """Add a message to a session, with its place in the error where it is none."""
    wrong = wrong_with_message(message)
    if wrong:
        raise document.fail(f"`{where}`: {wrong}. Mend or remove it.", line)
    if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str | None):
        raise document.fail(f"`{where}`: `tool_call_id` must be text. Mend it.", line)
    return builder.add(message, line=line, call=call)
