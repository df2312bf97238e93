"""A recall for people and for programs: one row per cell, as JSON and as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.report.figures import CellFigures, RecallFigures, recall_figures


def recall_json(recall: Recall) -> dict[str, Any]:
    """Return a recall as a JSON value, each trial with its recipe."""
    row = asdict(recall_figures(recall))
    for told, cell in zip(row["cells"], recall.cells, strict=True):
        told["trials"] = [
            {
                "id": trial.id,
                "recipe": trial.recipe,
                "outcome": trial.outcome,
                "text": trial.text,
                "carried": ", ".join(trial.sources) or None,
                "tokens": trial.tokens,
                "digest": trial.digest,
            }
            for trial in cell.trials
        ]
    return row


def recall_lines(recall: RecallFigures) -> Iterator[str]:
    """Yield a recall as lines of pytest's report."""
    label = f" [{recall.label}]" if recall.label else ""
    budget = f", budget {recall.budget:,}" if recall.budget else ""
    seed = "" if recall.seed is None else f", seed {recall.seed}"
    yield (
        f"  {recall.haystack} / {recall.policy}{label}: "
        f"{sum(cell.of for cell in recall.cells)} trials{seed}{budget}, "
        f"{recall.prompt_tokens:,} prompt tokens"
    )
    for cell in recall.cells:
        misses = misses_text(cell.outcomes)
        yield (
            f"    {cell.title}: {hits_text(cell)}, {interval_text(cell)}"
            f"{f' ({misses})' if misses else ''}; carried in {cell.carried}"
        )


def misses_text(outcomes: Mapping[str, int]) -> str:
    """Return what came of those that were not answered: ``1 neighbour, 2 other``."""
    return ", ".join(f"{n} {name}" for name, n in outcomes.items() if name != "hit")


def hits_text(cell: CellFigures) -> str:
    """Return a cell's hits."""
    left = f" ({cell.planned} planned)" if cell.planned > cell.of else ""
    return f"{cell.hits} of {cell.of}{left}"


def interval_text(cell: CellFigures) -> str:
    """Return a cell's interval."""
    return f"{cell.low:.0%} to {cell.high:.0%}"
