"""Whether two JSON values mean the same although their bytes differ, and in what they differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

WAYS = ("key order", "spacing or escapes", "number format", "text or blocks", "null or missing",
        "ids")  # fmt: skip
"""In what values of one meaning can differ; *spacing or escapes* is about JSON inside a text."""

IDS = ("id", "tool_call_id")


def same_meaning(one: Any, other: Any) -> tuple[str, ...]:
    """Return the ways in which two values of the same meaning differ.

    Nothing when the values are equal, or do not mean the same.
    """
    ways = set(WAYS)
    if _text(one, set()) == _text(other, set()) or _text(one, ways) != _text(other, ways):
        return ()
    for way in WAYS:  # leave out what is not needed for them to be equal
        if _text(one, ways - {way}) == _text(other, ways - {way}):
            ways.discard(way)
    return tuple(way for way in WAYS if way in ways)


def _text(value: Any, ways: Set[str]) -> str:
    return json.dumps(_plain(value, ways, "", {}), ensure_ascii=False, default=str)


def _plain(value: Any, ways: Set[str], key: str, seen: dict[str, str]) -> Any:
    """Return a value in one spelling, as far as some ways of differing go."""
    if key in IDS and "ids" in ways and isinstance(value, str):
        return seen.setdefault(value, f"#{len(seen)}")
    if isinstance(value, str):
        inner = _parsed(value) if key == "arguments" and ways & set(WAYS[:3]) else None
        if inner is not None:
            style = "" if "spacing or escapes" in ways else _style(value, inner)
            return [style, _plain(inner, ways, "", seen)]
        if key == "content" and "text or blocks" in ways:
            return _plain([{"type": "text", "text": value}], ways, "", seen)
        return value
    if isinstance(value, float) and "number format" in ways and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        names = sorted(value) if "key order" in ways else list(value)
        return {
            name: _plain(value[name], ways, name, seen)
            for name in names
            if not ("null or missing" in ways and value[name] in (None, []))
        }
    if isinstance(value, list):
        return [_plain(item, ways, "", seen) for item in value]
    return value


def _parsed(text: str) -> Any:
    """Return the object or list that a text spells, or nothing."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _style(text: str, value: Any) -> str:
    """Return how a JSON text is spaced and escaped; the text itself if in no usual way."""
    for ascii_only in (True, False):
        for separators in ((", ", ": "), (",", ":")):
            if text == json.dumps(value, ensure_ascii=ascii_only, separators=separators):
                return f"{ascii_only} {separators}"
    return text
