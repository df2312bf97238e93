"""``pytest-ctxguard transcript``: what a recording holds, and turning it into ours."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.errors import TranscriptError, UsageError
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.jsonl import dump, load
from pytest_ctxguard.transcript.loading import choose, read
from pytest_ctxguard.transcript.model import Transcript

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

SUFFIX = ".jsonl"
FILE = click.Path(dir_okay=False, path_type=Path)
RUN = click.option(
    "--run", type=click.IntRange(min=0), metavar="K", help="Only this session of the file, from 0."
)


@click.group()
def transcript() -> None:
    """Show what a recording holds, or convert it to the project's own format."""


@transcript.command()
@click.argument("file", type=FILE)
@RUN
@click.option("--check", is_flag=True, help="Compare with what the provider billed and cached.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(file: Path, run: int | None, check: bool, as_json: bool) -> None:
    """Read FILE whole, in whatever known format it is, and say what is in it.

    Without --run the figures are sums over all its sessions. Exit status 1 if anything in it
    cannot be read; the error says where.
    """
    from pytest_ctxguard.report import agreement, reading

    found = read(file)
    if run is not None:
        found = replace(found, runs=(choose(found, run, path=file),))
    encoder = RequestEncoder()
    shown = reading.measure(found, counter=encoder)
    checked = agreement.check(found.runs) if check else None
    if as_json:
        printed = shown.as_json()
        if checked is not None:
            printed["agreement"] = checked.as_json()
        click.echo(json.dumps(printed, indent=2))
        return
    _print(reading.render(shown, title=str(file), counter=encoder.name))
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
    if output.suffix != SUFFIX:
        raise UsageError(f"{output}: name it …{SUFFIX}, so that tests and commands find it")
    if output.exists() and (output.samefile(file) if file.exists() else False):
        raise UsageError(f"{output} is the recording itself; choose another name")
    if output.exists() and not force:
        raise UsageError(f"{output} is there already; overwrite it with --force")
    found = read(file)
    session = choose(found, run, path=file)
    write_atomically(output, lambda temporary: _write(session, temporary, output))
    click.echo(
        f"{output}: {len(session.messages)} messages and {len(session.tools)} tools "
        f"of {file} ({found.format})"
    )


def _write(session: Transcript, temporary: Path, output: Path) -> None:
    """Write a session and read it back; raises TranscriptError where it is another then."""
    dump(session, temporary)
    again = load(temporary)
    if again != session:
        raise TranscriptError(
            f"not written: its {_difference(session, again)} would come back changed. Please "
            "report it, with the recording if you can.",
            path=output,
        )


def _difference(one: Transcript, other: Transcript) -> str:
    for index, (a, b) in enumerate(zip(one.messages, other.messages, strict=False)):
        if a != b:
            return f"message {index}"
    names = (field.name for field in fields(Transcript))
    return next(name for name in names if getattr(one, name) != getattr(other, name))


def _print(parts: Iterable[Table | Text]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for part in parts:  # a file or pipe has no edge to wrap a line at
        console.print(part, soft_wrap=isinstance(part, Text) and not console.is_terminal)
