"""``pytest-ctxguard transcript``: what a recording holds, turning it into ours, planting facts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_ctxguard.cli.options import COUNTER
from pytest_ctxguard.cli.plant import plant
from pytest_ctxguard.cli.sessions import FILE, RUN, check_output, write_session
from pytest_ctxguard.tokens.counters.choosing import counter
from pytest_ctxguard.transcript.loading import choose, read

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


@click.group()
def transcript() -> None:
    """Show what a recording holds, convert it to the project's own format, or plant facts in it."""


transcript.add_command(plant)


@transcript.command()
@click.argument("file", type=FILE)
@RUN
@COUNTER
@click.option("--check", is_flag=True, help="Compare with what the provider billed and cached.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(file: Path, run: int | None, counter_name: str, check: bool, as_json: bool) -> None:
    """Read FILE whole, in whatever known format it is, and say what is in it.

    Without --run the figures are sums over all its sessions. Exit status 1 if anything in it
    cannot be read; the error says where.
    """
    from pytest_ctxguard.report.tables import agreement, reading

    found = read(file)
    if run is not None:
        found = replace(found, runs=(choose(found, run, path=file),))
    counting = counter(counter_name)
    shown = reading.measure(found, counter=counting)
    checked = agreement.check(found.runs) if check else None
    if as_json:
        printed = shown.as_json()
        if checked is not None:
            printed["agreement"] = checked.as_json()
        click.echo(json.dumps(printed, indent=2))
        return
    _print(reading.render(shown, title=str(file), counter=counting.name))
    if checked is not None:
        _print(agreement.render_checks(checked))


@transcript.command()
@click.argument("file", type=FILE)
@click.option("-o", "--output", required=True, type=FILE, help="The .jsonl file to write.")
@RUN
@click.option("--force", is_flag=True, help="Overwrite the output if it is there.")
def convert(file: Path, output: Path, run: int | None, force: bool) -> None:
    """Write one session of FILE in the project's own format (docs/transcripts.md).

    What was written is read back and compared before it takes its place.
    """
    check_output(output, file, force=force)
    found = read(file)
    session = choose(found, run, path=file)
    write_session(session, output)
    click.echo(
        f"{output}: {len(session.messages)} messages and {len(session.tools)} tools "
        f"of {file} ({found.format})"
    )


def _print(parts: Iterable[Table | Text]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for part in parts:  # a file or pipe has no edge to wrap a line at
        console.print(part, soft_wrap=isinstance(part, Text) and not console.is_terminal)
