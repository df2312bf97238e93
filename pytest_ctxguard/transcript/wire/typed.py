"""Take fields of known types out of recorded JSON, or say which is missing, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text(body: Mapping[str, Any], key: str, place: str) -> str:
    """Return a text that must be there."""
    value = body.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{_at(place, key)} {_must('text', value)}")
    return value


def object_at(body: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    """Return an object that must be there."""
    value = body.get(key)
    if not isinstance(value, dict):
        raise ValueError(f"{_at(place, key)} {_must('an object', value)}")
    return value


def objects(value: Any, place: str) -> list[dict[str, Any]]:
    """Return a value that must be a list of objects."""
    if not isinstance(value, list):
        raise ValueError(f"`{place}` {_must('a list', value)}")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise ValueError(f"`{place}[{number}]` {_must('an object', item)}")
    return value


def integer(value: Any) -> int | None:
    """Return a count, or ``None`` for anything that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def string(value: Any) -> str | None:
    """Return a text, or ``None`` for anything that is none."""
    return value if isinstance(value, str) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one for anything that is none."""
    return value if isinstance(value, dict) else {}


def rest(body: Mapping[str, Any], *handled: str) -> dict[str, Any]:
    """Return the fields that have a value, but for those that were handled."""
    return {k: v for k, v in body.items() if k not in handled and v is not None}


def _at(place: str, key: str) -> str:
    return f"`{place}.{key}`" if place else f"`{key}`"


def _must(kind: str, value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    if value is None:
        return f"is missing; it must be {kind}"
    return f"must be {kind}, not {names.get(type(value), 'a number')}"
