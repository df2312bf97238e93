"""The terminal that a report is made for: its width, its signs, how much is wanted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_ctxguard.report.printable import printable

Line = tuple[str, tuple[str, ...]]
"""A line and its styles, by pytest's names: ``red``, ``bold``."""
NARROWEST = 40
PLAIN = str.maketrans({"→": "->", "…": "..."})


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A terminal.

    Attributes:
        width: columns.
        encoding: what it writes.
        verbosity: pytest's: -1 with ``-q``, 1 with ``-v``.
    """

    width: int = 80
    encoding: str = "utf-8"
    verbosity: int = 0

    def text(self, value: str) -> str:
        """Return text of any origin for one line: what the terminal obeys or lacks, spelled out."""
        return self.written(printable(value))

    def written(self, value: str) -> str:
        """Return text with the characters spelled out that the terminal's encoding lacks."""
        try:
            value.encode(self.encoding)
        except UnicodeEncodeError:
            plain = value.translate(PLAIN).encode(self.encoding, "backslashreplace")
            return plain.decode(self.encoding)
        return value

    def wrapped(self, value: str, *, first: str = "", rest: str | None = None) -> Iterator[str]:
        """Yield text in lines of the terminal's width.

        Args:
            value: the text.
            first: begins the first line.
            rest: begins the others; by default as many blanks.
        """
        rest = " " * len(first) if rest is None else rest
        yield from textwrap.wrap(
            self.text(value),
            width=max(self.width, NARROWEST),
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]
