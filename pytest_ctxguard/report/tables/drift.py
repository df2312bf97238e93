"""Recall over cycles of compaction, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from pytest_ctxguard.recall.drift import Cycle
from pytest_ctxguard.report.tables.small_table import answered, small_table


def cycle_json(cycle: Cycle) -> dict[str, Any]:
    """Return the documented keys."""
    answers = cycle.answers
    return {
        "fact": cycle.fact,
        "cycles": cycle.cycles,
        "turn": cycle.turn,
        "carried": cycle.carried,
        "fate": cycle.fate.state,
        "answered": None if answers is None else answers.hits,
        "of": None if answers is None else len(answers.usable),
        "outcomes": {} if answers is None else dict(answers.outcomes),
    }


def render_cycles(cycles: Sequence[Cycle], *, title: str) -> Table:
    """Return the cycles for a terminal, one row each."""
    table = small_table(title, "fact")
    for head in ("cycles", "turn"):
        table.add_column(head, justify="right")
    for head in ("carried", "answered", "otherwise", "in summaries"):
        table.add_column(head, overflow="fold")
    for cycle in cycles:
        table.add_row(
            escape(cycle.fact),
            str(cycle.cycles),
            str(cycle.turn),
            "carried" if cycle.carried else "dropped",
            *answered(cycle.answers),
            cycle.fate.state or "",
        )
    return table
