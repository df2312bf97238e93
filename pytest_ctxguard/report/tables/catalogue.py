"""The audit of a tool catalogue, as tables for 80 columns and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from pytest_ctxguard.report.printable import printable
from pytest_ctxguard.report.tables.small_table import small_table
from pytest_ctxguard.tokens.catalogue import Catalogue

TRIMMED = {
    "short": "one sentence a tool, no parameter prose",
    "called": "only tools that were called",
    "both": "both",
}


def catalogue_json(catalogue: Catalogue, *, transcript: str) -> dict[str, Any]:
    """Return what ``tools --json`` prints."""
    idle = catalogue.idle_tokens
    return {
        "transcript": transcript,
        "counter": catalogue.counter,
        "exact": catalogue.exact,
        "calls": catalogue.requests,
        "system": catalogue.system,
        "scaffolding": catalogue.scaffolding,
        "definitions": catalogue.definitions,
        "definitions_over_run": catalogue.over_run(catalogue.definitions),
        "tools": [asdict(tool) for tool in catalogue.tools],
        "never_called": {
            "tools": [tool.name for tool in catalogue.never_called],
            "tokens": idle,
            "over_run": catalogue.over_run(idle),
        },
        "unknown": [asdict(tool) for tool in catalogue.unknown],
        "trimmed": asdict(catalogue.trimmed),
    }


def render_catalogue(catalogue: Catalogue, *, transcript: str) -> Iterator[Table | Text]:
    """Yield what ``tools`` prints, in order."""
    exact = "exact" if catalogue.exact else "approximate: another template may be the model's"
    yield Text(
        f"{printable(transcript)}: {len(catalogue.tools)} tools, sent at each of "
        f"{catalogue.requests:,} calls; tokens: {catalogue.counter}, {exact}",
        style="bold",
    )
    yield _sizes(catalogue)
    yield _tools(catalogue)
    if catalogue.never_called:
        yield Text(_never_called(catalogue))
    for tool in catalogue.unknown:
        yield Text(f"called, and does not exist: {tool}")
    yield _trimmed(catalogue)


def _sizes(catalogue: Catalogue) -> Table:
    table = small_table("\ntokens", "what")
    for head in ("a request", "all calls"):
        table.add_column(head, justify="right")
    rows = {
        "system message and template": catalogue.system,
        "scaffolding of the definitions": catalogue.scaffolding,
        "definitions, with it": catalogue.definitions,
    }
    for what, tokens in rows.items():
        table.add_row(what, f" {tokens:,}", f" {catalogue.over_run(tokens):,}")
    return table


def _tools(catalogue: Catalogue) -> Table:
    table = small_table("\ntokens by tool; prose: of its parameters", "tool")
    table.columns[0].no_wrap = False
    table.columns[0].overflow = "fold"
    for head in ("tokens", "prose", "called", "all calls"):
        table.add_column(head, justify="right", min_width=len(head) + 1)
    for tool in sorted(catalogue.tools, key=lambda tool: -tool.tokens):
        table.add_row(
            Text(printable(tool.name)),
            f"{tool.tokens:,}",
            f"{tool.prose:,}",
            f"{tool.calls:,}" if tool.calls else "never",
            f" {catalogue.over_run(tool.tokens):,}",
        )
    return table


def _never_called(catalogue: Catalogue) -> str:
    idle = catalogue.idle_tokens
    return (
        f"\nnever called: {len(catalogue.never_called)} of {len(catalogue.tools)} tools; "
        f"{idle:,} tokens a request, {catalogue.over_run(idle):,} over all calls"
    )


def _trimmed(catalogue: Catalogue) -> Table:
    table = small_table("\na trimmed catalogue", "what")
    for head in ("a request", "saved", "saved by all calls"):
        table.add_column(head, justify="right", min_width=10, overflow="fold")
    for key, tokens in asdict(catalogue.trimmed).items():
        saved = catalogue.definitions - tokens
        table.add_row(
            TRIMMED[key],
            f"{tokens:,}",
            f"{saved / catalogue.definitions:.0%}",
            f"{catalogue.over_run(saved):,}",
        )
    return table
