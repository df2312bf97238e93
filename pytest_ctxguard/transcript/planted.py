"""Planted facts in the JSONL format: reading, checking, writing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.messages import Message, full_text, is_user
from pytest_ctxguard.transcript.model import FACT_KINDS, Fact, contains

TEXT_KEYS = ("name", "value", "kind", "shape")
LIST_KEYS = ("wordings", "accepts", "look_alikes")
INDEX_KEYS = ("planted_at", "asked_at")
OPTIONAL = {"asked_at", "accepts", "look_alikes"}

Fail = Callable[[str, int | None], TranscriptError]


def dump_fact(fact: Fact) -> dict[str, Any]:
    """Return the JSON object of a fact; :func:`read_fact` reads it back."""
    row: dict[str, Any] = {key: getattr(fact, key) for key in (*TEXT_KEYS, *INDEX_KEYS)}
    row.update({key: list(getattr(fact, key)) for key in LIST_KEYS})
    return row


def read_fact(row: Any, line: int, messages: Sequence[Message], fail: Fail) -> Fact:
    """Check one fact against its transcript and return it.

    Args:
        row: the JSON object.
        line: where it stands, for the error.
        messages: the transcript's messages.
        fail: makes the error, with the file's path.
    """
    if not isinstance(row, dict):
        raise fail("`fact` must be an object", line)
    keys = {*TEXT_KEYS, *LIST_KEYS, *INDEX_KEYS}
    for key in sorted(set(row) ^ keys):
        if key not in keys:
            raise fail(f"unknown key {key!r}; a fact has: {', '.join(sorted(keys))}", line)
        if key not in OPTIONAL:
            raise fail(f"the fact has no {key!r}", line)
    _check_types(row, line, fail)
    values: dict[str, Any] = {key: row.get(key) for key in (*TEXT_KEYS, *INDEX_KEYS)}
    values.update({key: tuple(row.get(key, ())) for key in LIST_KEYS})
    fact = Fact(**values)
    problem = problem_of(fact, messages)
    if problem:
        raise fail(f"fact {fact.name!r}: {problem}", line)
    return fact


def _check_types(row: dict[str, Any], line: int, fail: Fail) -> None:
    for key in TEXT_KEYS:
        if not isinstance(row[key], str) or not row[key]:
            raise fail(f"{key!r} must be text, and not empty", line)
    for key in LIST_KEYS:
        values = row.get(key, [])
        if not isinstance(values, list) or not all(isinstance(v, str) and v for v in values):
            raise fail(f"{key!r} must be a list of texts", line)
    for key in INDEX_KEYS:
        value = row.get(key)
        allowed = value is None and key in OPTIONAL
        if not allowed and (not isinstance(value, int) or isinstance(value, bool)):
            raise fail(f"{key!r} must be the index of a message, from 0", line)


def problem_of(fact: Fact, messages: Sequence[Message]) -> str | None:
    """Return what keeps a fact from being asked for, or None."""
    if fact.kind not in FACT_KINDS:
        return f"kind {fact.kind!r} is not one of {', '.join(FACT_KINDS)}"
    if not fact.wordings:
        return "has no wordings, so nothing could be asked"
    if isinstance(fact.wordings, str):
        return "its wordings are one text; give a sequence of texts"
    if not 0 <= fact.planted_at < len(messages):
        return f"planted_at {fact.planted_at} is not a message; there are {len(messages)}"
    if not contains(full_text(messages[fact.planted_at]), fact.value):
        return f"its value {fact.value!r} is not in message {fact.planted_at}, where it is planted"
    if fact.asked_at is not None and (
        not fact.planted_at < fact.asked_at < len(messages) or not is_user(messages[fact.asked_at])
    ):
        return f"asked_at {fact.asked_at} is not a user message after the one that plants it"
    for wording in fact.wordings:
        if fact.mentions(wording):
            return f"the wording {wording!r} gives the answer away"
    for value in fact.look_alikes:
        if any(contains(accepted, value) for accepted in fact.accepted):
            return f"the look-alike {value!r} stands in an accepted answer, so nothing could hit"
    try:
        matches = re.fullmatch(fact.shape, fact.value, re.IGNORECASE)
    except (re.error, OverflowError) as error:
        return f"shape {fact.shape!r} is not a regular expression ({error})"
    return None if matches else f"its value does not match its shape {fact.shape!r}"
