"""A run, or one test of it, as JSON: written by workers and shards, read by whoever joins them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pytest_ctxguard.errors import ReportError
from pytest_ctxguard.report.run import SCHEMA, Run, TestResult

HALF = re.compile("[\ud800-\udfff]")
Value = TypeVar("Value", Run, TestResult)


def dumps(value: Run | TestResult, *, indent: int | None = None) -> str:
    """Return a value as JSON in which equal values have equal bytes.

    Half surrogate pairs, which no JSON reader need accept, are spelled out.
    """
    built: Any = msgspec.to_builtins(value)
    if isinstance(value, Run):
        built = {"schema": SCHEMA, "verdict": value.verdict, **built}
        for test, row in zip(value.tests, built["tests"], strict=True):
            _add_verdicts(test, row)
    else:
        _add_verdicts(value, built)
    text = json.dumps(built, indent=indent, ensure_ascii=False)
    return HALF.sub(lambda half: f"\\\\u{ord(half.group()):04x}", text)


def _add_verdicts(test: TestResult, row: dict[str, Any]) -> None:
    """Write down what a judgement computes, for readers that are no Python; reading ignores it."""
    for subject, built in zip(test.subjects, row["subjects"], strict=True):
        for judgement, told in zip(subject.judgements, built["judgements"], strict=True):
            told |= {"verdict": judgement.verdict, "state": judgement.state}


def test_result(text: str) -> TestResult:
    """Return the test of a JSON text that :func:`dumps` made in another process."""
    return msgspec.json.decode(text, type=TestResult)


def read_run(path: Path) -> Run:
    """Read a run.

    Raises:
        ReportError: it is none, is cut off, or is of another version.
    """
    try:
        data = path.read_bytes()
        told = msgspec.json.decode(data)
        found = told.get("schema") if isinstance(told, dict) else None
        if found != SCHEMA:
            raise ReportError(
                f"schema {found!r} is not supported; this release reads {SCHEMA}. Write the report "
                "with the same release that reads it.",
                path=path,
            )
        return msgspec.convert(told, Run)
    except OSError as error:
        raise ReportError(f"cannot be read: {error}", path=path) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ReportError(
            f"not a report of a run ({error}). Write it with --ctxguard-report "
            f"{path.with_suffix('.json').name}",
            path=path,
        ) from error


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report."""
    return msgspec.json.schema(Run)
