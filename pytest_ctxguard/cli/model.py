"""``pytest-ctxguard model``: what the cache holds, whether it is whole, and how to be rid of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pytest_ctxguard.cli.progress import progress

if TYPE_CHECKING:
    from pytest_ctxguard.engine.models.inventory import Status


@click.group()
def model() -> None:
    """List, verify or remove the models in the cache."""


@model.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_models(as_json: bool) -> None:
    """List the models in the cache, and those that can be fetched by name."""
    from pytest_ctxguard.engine.models.inventory import entries, status

    found = [status(entry) for entry in entries()]
    if as_json:
        rows = [
            {
                "name": each.entry.name,
                "source": each.entry.source,
                "bytes": each.size,
                "recipe": each.recipe,
                "state": each.state,
                "folder": str(each.entry.folder),
                "detail": each.detail,
            }
            for each in found
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    _print_table(found)
    for each in found:
        if each.detail:
            click.echo(f"{each.entry.name}: {each.detail}")


def _print_table(found: Sequence[Status]) -> None:
    """Print one line a model, never cut: names are there to be copied."""
    rows = [("model", "MB", "recipe", "state", "source")]
    for each in found:
        size = f"{each.size / 1e6:.0f}" if each.size else "-"
        recipe = "-" if each.recipe is None else str(each.recipe)
        rows.append((each.entry.name, size, recipe, each.state, each.entry.source))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, size, recipe, state, source in rows:
        cells = (
            name.ljust(widths[0]),
            size.rjust(widths[1]),
            recipe.rjust(widths[2]),
            state.ljust(widths[3]),
            source,
        )
        click.echo("  ".join(cells))


@model.command()
@click.argument("name", required=False)
def verify(name: str | None) -> None:
    """Compare every byte of one model, or of all in the cache, with its hash.

    Exit status 1 if a file is damaged; `pytest-ctxguard fetch NAME` mends it.
    """
    from pytest_ctxguard.engine.models.inventory import entries, find_entry, status
    from pytest_ctxguard.engine.models.inventory import verify as verify_entry

    if name is None:
        chosen = [entry for entry in entries() if status(entry).size]
    else:
        chosen = [find_entry(name)]
    damaged = []
    for entry in chosen:
        with progress() as report:
            verdicts = list(verify_entry(entry, progress=report))
        for verdict in verdicts:
            click.echo(f"{'damaged' if verdict.wrong else 'ok':<8}{entry.name}  {verdict.file}")
            if verdict.wrong:
                click.echo(f"        {verdict.wrong}")
        if any(verdict.wrong for verdict in verdicts):
            damaged.append(entry)
    if not chosen:
        click.echo("no model is in the cache")
    for entry in damaged:
        click.echo(f"mend it: pytest-ctxguard fetch {entry.wanted}", err=True)
    if damaged:
        sys.exit(1)


@model.command()
@click.argument("name")
def rm(name: str) -> None:
    """Remove a model from the cache."""
    from pytest_ctxguard.engine.models.inventory import find_entry, remove

    entry = find_entry(name)
    with progress() as report:
        freed = remove(entry, progress=report)
    click.echo(f"removed {entry.name}: {freed / 1e6:.0f} MB freed")
