"""What stands on the page: tables, and charts, each of which has its numbers as a table, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.report.figures import Break


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a table that says more than its text.

    Attributes:
        text: what it says.
        kind: its class on the page, for colour beside the text.
    """

    text: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a head; the first column names the row.

    Attributes:
        caption: what it shows.
        head: a name for each column.
        rows: text as it is shown, or a cell.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Where one call's request parts from the one before.

    Attributes:
        anchor: the place on the page that the mark of this call leads to.
        call: its number.
        kind: what the request is to the one before.
        broken: where, the texts and the cause.
    """

    anchor: str
    call: int
    kind: str
    broken: Break


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart.

    Attributes:
        title: its name, to a screen reader as well.
        says: how to read it.
        spec: what to draw, as Vega-Lite has it.
        table: the same numbers.
        partings: what its marks lead to.
        left_out: what is neither drawn nor listed; empty: all is.
    """

    title: str
    says: str
    spec: Mapping[str, Any]
    table: Table
    partings: tuple[Parting, ...] = ()
    left_out: str = ""


def cut(text: str, *, longest: int) -> str:
    """Return the beginning of a text that is longer than this."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def unique(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names, those that stood before with a number: an axis takes equal ones as one."""
    found: dict[str, None] = {}
    for name in names:
        number, told = 1, name
        while told in found:
            number += 1
            told = f"{name} ({number})"
        found[told] = None
    return tuple(found)
