"""A recall for people and for programs: one row per cell, as JSON and as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_ctxguard.recall.needles.values import Cell, Recall


def recall_json(recall: Recall, *, trials: bool = False) -> dict[str, Any]:
    """Return a recall as a JSON value.

    Args:
        recall: what was asked.
        trials: whether each trial is in it, with its recipe.
    """
    return {
        "haystack": recall.sample.haystack,
        "population": recall.sample.population,
        "seed": recall.sample.seed,
        "policy": recall.policy,
        "label": recall.label,
        "budget": recall.budget,
        "changed": recall.changed,
        "prompt_tokens": recall.prompt_tokens,
        "cells": [_cell_json(cell, trials=trials) for cell in recall.cells],
    }


def recall_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a recall's JSON value as lines of pytest's report."""
    label = f" [{row['label']}]" if row["label"] else ""
    budget = f", budget {row['budget']:,}" if row["budget"] else ""
    seed = "" if row["seed"] is None else f", seed {row['seed']}"
    yield (
        f"  {row['haystack']} / {row['policy']}{label}: "
        f"{sum(cell['of'] for cell in row['cells'])} trials{seed}{budget}, "
        f"{row['prompt_tokens']:,} prompt tokens"
    )
    for cell in row["cells"]:
        misses = misses_text(cell["outcomes"])
        yield (
            f"    {cell['title']}: {hits_text(cell)}, {interval_text(cell)}"
            f"{f' ({misses})' if misses else ''}; carried in {cell['carried']}"
        )


def _cell_json(cell: Cell, *, trials: bool) -> dict[str, Any]:
    interval = cell.interval
    row: dict[str, Any] = {
        "name": cell.name,
        "title": cell.title,
        "records": cell.records,
        "depth": cell.depth,
        "planned": cell.planned,
        "of": cell.of,
        "hits": cell.hits,
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
        "outcomes": dict(cell.outcomes),
        "carried": cell.carried,
        "tokens": round(sum(trial.tokens for trial in cell.trials) / cell.of),
    }
    if trials:
        row["trials"] = [
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


def misses_text(outcomes: Mapping[str, int]) -> str:
    """Return what came of those that were not answered: ``1 neighbour, 2 other``."""
    return ", ".join(f"{n} {name}" for name, n in outcomes.items() if name != "hit")


def hits_text(cell: Mapping[str, Any]) -> str:
    """Return a cell's hits."""
    left = f" ({cell['planned']} planned)" if cell["planned"] > cell["of"] else ""
    return f"{cell['hits']} of {cell['of']}{left}"


def interval_text(cell: Mapping[str, Any]) -> str:
    """Return a cell's interval."""
    return f"{cell['low']:.0%} to {cell['high']:.0%}"
