"""Tables without rules, broken into several where the terminal is too narrow for one."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_ctxguard.report.rows import Column, Section
from pytest_ctxguard.report.run import TestVerdict
from pytest_ctxguard.report.terminal.screen import NARROWEST, Line, Screen

INDENT = 2
GAP = 2
STYLES: dict[TestVerdict, str] = {"error": "red", "fail": "red", "inconclusive": "yellow"}


def section_lines(section: Section, screen: Screen) -> Iterator[Line]:
    """Yield a table as lines, each with its styles.

    Columns that are ``extra`` are there only if one table has room for all; the column that names
    the rows is folded only if that makes one table of several.
    """
    needed = tuple(column for column in section.columns if not column.extra)
    whole = _width(section.first, screen)
    folded = min(whole, max(screen.width // 3, 18))
    for columns, first in itertools.product((section.columns, needed), (whole, folded)):
        parts = _pack(columns, screen, first=first)
        if len(parts) == 1:
            break
    for line in screen.wrapped(section.title):
        yield line, ("bold",)
    for part in parts:
        yield from _drawn(section, (section.first, *part), screen, first=first)


def _pack(columns: Sequence[Column], screen: Screen, *, first: int) -> list[tuple[Column, ...]]:
    """Return the columns of each table: as many groups as there is room for beside the first."""
    groups: dict[object, list[Column]] = {}
    for number, column in enumerate(columns):
        groups.setdefault(column.group or number, []).append(column)
    parts: list[tuple[Column, ...]] = []
    part: list[Column] = []
    used = INDENT + first
    for group in groups.values():
        needed = sum(GAP + _width(column, screen) for column in group)
        if part and used + needed > screen.width:
            parts.append(tuple(part))
            part, used = [], INDENT + first
        part += group
        used += needed
    return [*parts, tuple(part)]


def _width(column: Column, screen: Screen) -> int:
    lines = (line for text in (column.head, *column.cells) for line in text.split("\n"))
    return max(cell_len(screen.text(line)) for line in lines)


def _drawn(
    section: Section, columns: Sequence[Column], screen: Screen, *, first: int
) -> Iterator[Line]:
    table = Table(
        box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim", show_edge=False
    )
    for number, column in enumerate(columns):
        head = "\n".join(map(screen.text, column.head.split("\n")))
        table.add_column(
            Text(head),
            justify="right" if column.right else "left",
            overflow="fold",
            max_width=first if not number else None,
            vertical="top",
        )
    for number, verdict in enumerate(section.verdicts):
        cells = (Text(screen.text(column.cells[number])) for column in columns)
        table.add_row(*cells, style=STYLES.get(verdict))
    width = max(screen.width, NARROWEST) - INDENT
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    for segments in console.render_lines(table, pad=False):
        text = "".join(segment.text for segment in segments).rstrip()
        colours = {s.style.color.name for s in segments if s.style and s.style.color}
        yield " " * INDENT + text, tuple(sorted(colours & {*STYLES.values()}))
