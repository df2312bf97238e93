"""Planted facts in the JSONL format: reading and writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from pytest_ctxguard.errors import CtxguardError
from pytest_ctxguard.transcript.facts import LISTS
from pytest_ctxguard.transcript.model import Fact, ToolProbe

TEXTS = ("name", "value", "kind", "shape", "lifetime", "match")
INDICES = ("planted_at", "asked_at")
ALWAYS = (
    "name", "value", "kind", "shape", "planted_at", "asked_at", "wordings", "accepts", "look_alikes"
)  # fmt: skip
"""Written for every fact; any other key only where it says something, since every key is part of
a fact's fingerprint."""
TOOL = ("name", "argument", "arguments")

Fail = Callable[[str], CtxguardError]


def dump_fact(fact: Fact) -> dict[str, Any]:
    """Return the JSON object of a fact; :func:`read_fact` reads it back."""
    row = {key: _json(getattr(fact, key)) for key in ALWAYS}
    for field in fields(Fact):
        value = getattr(fact, field.name)
        if field.name not in row and value != field.default:
            row[field.name] = _json(value)
    return row


def _json(value: Any) -> Any:
    if isinstance(value, ToolProbe):
        return {key: getattr(value, key) for key in TOOL if getattr(value, key)}
    return list(value) if isinstance(value, tuple) else value


def read_fact(row: Any, fail: Fail) -> Fact:
    """Return the fact of a JSON object; whether it fits its transcript is another question.

    Args:
        row: the JSON object.
        fail: makes the error, with its place.
    """
    if not isinstance(row, dict):
        raise fail("`fact` must be an object")
    optional = {field.name for field in fields(Fact) if field.default is not MISSING}
    keys = {field.name for field in fields(Fact)}
    for key in sorted(set(row) ^ keys):
        if key not in keys:
            raise fail(f"unknown key {key!r}; a fact has: {', '.join(sorted(keys))}")
        if key not in optional:
            raise fail(f"the fact has no {key!r}")
    return Fact(**typed({key: row[key] for key in row}, fail))


def typed(row: dict[str, Any], fail: Fail) -> dict[str, Any]:
    """Return the fields of a fact with the types they have in Python; others as they are."""
    for key in (*TEXTS, *LISTS, *INDICES):
        if key in row:
            _check_type(key, row[key], fail)
    values = {key: tuple(value) if key in LISTS else value for key, value in row.items()}
    if values.get("tool") is not None:
        values["tool"] = _read_tool(values["tool"], fail)
    return values


def _check_type(key: str, value: Any, fail: Fail) -> None:
    if key in TEXTS and (not isinstance(value, str) or not value):
        raise fail(f"{key!r} must be text, and not empty")
    if key in LISTS and not (
        isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    ):
        raise fail(f"{key!r} must be a list of texts")
    if key in INDICES:
        allowed = value is None and key == "asked_at"
        if not allowed and (not isinstance(value, int) or isinstance(value, bool)):
            raise fail(f"{key!r} must be the index of a message, from 0")


def _read_tool(row: Any, fail: Fail) -> ToolProbe:
    wanted = "'tool' must be an object with `name`, `argument` and, if need be, `arguments`"
    if not isinstance(row, dict) or not {"name", "argument"} <= set(row) <= set(TOOL):
        raise fail(wanted)
    others = row.get("arguments", {})
    if not isinstance(others, dict) or not all(
        isinstance(text, str) and text
        for text in (row["name"], row["argument"], *others, *others.values())
    ):
        raise fail(f"{wanted}; names and values are texts")
    return ToolProbe(name=row["name"], argument=row["argument"], arguments=others)
