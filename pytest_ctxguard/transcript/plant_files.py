"""Facts to be planted, from a YAML or JSON file."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pytest_ctxguard.transcript.cassettes.yaml_form import parse
from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.fact_json import TEXTS as FACT_TEXTS
from pytest_ctxguard.transcript.fact_json import Fail, typed
from pytest_ctxguard.transcript.placing import Plant

TEXTS = (*FACT_TEXTS, "text", "level", "reply")
NUMBERS = {"turn": int, "asked_turn": int, "depth": int | float}
NEEDED = ("name", "value", "text", "wordings")


def read_plants(path: str | Path) -> tuple[Plant, ...]:
    """Read a list of facts to be planted; the keys are those of a :class:`Plant`.

    Raises:
        TranscriptError: the file is broken, or one of the facts is none; the message says which.
    """
    document = open_document(path)
    rows, _ = parse(document)
    if not isinstance(rows, list) or not rows:
        raise document.fail("must be a list of facts, one or more: objects with `name`, `value`, …")

    def fail_at(number: int) -> Fail:
        return lambda what: document.fail(f"fact {number}: {what}")

    return tuple(read_plant(row, fail_at(number)) for number, row in enumerate(rows, 1))


def read_plant(row: Any, fail: Fail) -> Plant:
    """Return the fact of a JSON object; ``fail`` makes the error, with its place."""
    if not isinstance(row, dict):
        raise fail("must be an object")
    known = {field.name: field.default for field in fields(Plant)}
    for key in row:
        if key not in known:
            raise fail(f"unknown key {key!r}; it may have: {', '.join(sorted(known))}")
    for key, default in known.items():
        if key not in row and (default is MISSING or key in NEEDED):
            raise fail(f"has no {key!r}")
    for key in TEXTS:
        if key in row and not isinstance(row[key], str):
            raise fail(f"{key!r} must be text; put it in quotes")
    for key, kind in NUMBERS.items():
        if key in row and (not isinstance(row[key], kind) or isinstance(row[key], bool)):
            raise fail(f"{key!r} must be a number")
    return Plant(**typed(row, fail))
