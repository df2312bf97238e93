"""A recall as a table, for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.report.figures import recall_figures
from pytest_ctxguard.report.tables.recall import hits_text, interval_text, misses_text


def recall_table(recall: Recall, *, model: str) -> Table:
    """Return the table for a terminal."""
    figures, spent = recall_figures(recall), recall.spent
    budget = f", budget {recall.budget:,} tokens" if recall.budget else ""
    table = Table(
        title=f"{escape(figures.haystack)} under {escape(figures.policy)}{budget}; "
        f"answered by {escape(model)}",
        caption=f"{spent.prompt_tokens:,} prompt tokens, {spent.computed_tokens:,} computed, in "
        f"{spent.seconds:.0f} s. Interval: Wilson, 95 %. Cells share their draws: compare them in "
        "pairs, do not add them up.",
    )
    table.add_column("cell", no_wrap=True)
    for head in ("tokens", "carried", "answered", "interval"):
        table.add_column(head, justify="right", overflow="fold")
    table.add_column("misses", overflow="fold")
    for cell in figures.cells:
        table.add_row(
            escape(cell.title),
            f"{cell.tokens:,}",
            f"{cell.carried} of {cell.of}",
            hits_text(cell),
            interval_text(cell),
            misses_text(cell.outcomes),
        )
    return table
