"""A file to be read, parsed once for all readers that look at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_ctxguard.errors import TranscriptError

SIZE_LIMIT = 512 * 2**20  # bytes of one file; the largest recorded session known to us has 200 MB
HEAD = 40  # rows that are looked at to recognise a format


class Document:
    """One file's bytes, and what they parse to; parsed when first asked for.

    Raises:
        TranscriptError: by any property, where the file is not what that property needs.
    """

    def __init__(self, path: str | Path, data: bytes) -> None:
        self.path, self.data = Path(path), data

    def fail(self, what: str, line: int | None = None) -> TranscriptError:
        """Return an error at a place in this file; ``what`` says what is wrong and the remedy."""
        return TranscriptError(what, path=self.path, line=line)

    @cached_property
    def text(self) -> str:
        """The file as UTF-8, a byte order mark apart."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise self.fail("not UTF-8. Save the file as UTF-8.", line) from error

    @cached_property
    def head(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows of JSON Lines that are objects, as far as they are whole; no errors."""
        rows: list[Mapping[str, Any]] = []
        for line in self.data.split(b"\n", HEAD)[:HEAD]:
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    break
                if isinstance(row, dict):
                    rows.append(row)
        return tuple(rows)

    @cached_property
    def rows(self) -> tuple[tuple[int, Mapping[str, Any]], ...]:
        """Every row of JSON Lines, with its line number from 1."""
        lines = [(n, line) for n, line in enumerate(self.text.split("\n"), 1) if line.strip()]
        return tuple((n, self._row(n, line, last=n == lines[-1][0])) for n, line in lines)

    def _row(self, n: int, line: str, *, last: bool) -> Mapping[str, Any]:
        try:
            row = json.loads(line)
        except RecursionError as error:
            raise self.fail("nested too deep", n) from error
        except ValueError as error:
            hint = "The file may be truncated." if last else "Mend or remove the line."
            raise self.fail(f"not JSON ({error}). {hint}", n) from error
        if not isinstance(row, dict):
            raise self.fail("a row must be a JSON object. Mend or remove the line.", n)
        return row

    @cached_property
    def json(self) -> Any:
        """The file as one JSON value."""
        try:
            return json.loads(self.text)
        except RecursionError as error:
            raise self.fail("nested too deep") from error
        except ValueError as error:
            line = getattr(error, "lineno", None)
            raise self.fail(f"not JSON ({error}). The file may be truncated.", line) from error

    @cached_property
    def value(self) -> Any:
        """The file as one JSON value, or ``None`` where it is not one; no errors."""
        try:
            return self.json
        except TranscriptError:
            return None


def open_document(path: str | Path) -> Document:
    """Read a file's bytes.

    Raises:
        TranscriptError: it cannot be read, or is larger than 512 MiB.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise TranscriptError(
                f"{size / 2**20:.0f} MiB; files of up to {SIZE_LIMIT / 2**20:.0f} MiB are read. "
                "Split it.",
                path=path,
            )
        return Document(path, path.read_bytes())
    except OSError as error:
        raise TranscriptError(f"cannot be read: {error.strerror}", path=path) from error
