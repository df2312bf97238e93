"""Take values out of a JSON file, and say where one is not what its format needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.document import Document


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
