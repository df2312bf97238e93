"""What the small tables of the reports have in common."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.report.tables.recall import misses_text


def small_table(title: str, first: str) -> Table:
    """Return a table with its first column, narrow enough for a terminal of 80 columns."""
    table = Table(
        title=escape(title),
        title_justify="left",
        title_style="italic",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=0,
    )
    table.add_column(first, no_wrap=True)
    return table


def answered(answers: Answers | None) -> tuple[str, str]:
    """Return how many of the usable wordings were answered, and what came of the others."""
    if answers is None:
        return "", ""
    return f"{answers.hits}/{len(answers.usable)}", misses_text(answers.outcomes)
