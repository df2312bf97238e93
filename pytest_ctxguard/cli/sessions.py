"""What the commands that read one session and write another share."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.errors import TranscriptError, UsageError
from pytest_ctxguard.transcript.jsonl import dump, load
from pytest_ctxguard.transcript.model import Transcript

SUFFIX = ".jsonl"
FILE = click.Path(dir_okay=False, path_type=Path)
RUN = click.option(
    "--run", type=click.IntRange(min=0), metavar="K", help="Only this session of the file, from 0."
)


def check_output(output: Path, file: Path, *, force: bool) -> None:
    """Refuse an output that is the recording itself, or would go unfound.

    Raises:
        UsageError: it has another suffix, is the file that is read, or is there and not to be
            overwritten.
    """
    if output.suffix != SUFFIX:
        raise UsageError(f"{output}: name it …{SUFFIX}, so that tests and commands find it")
    if output.exists() and (output.samefile(file) if file.exists() else False):
        raise UsageError(f"{output} is the recording itself; choose another name")
    if output.exists() and not force:
        raise UsageError(f"{output} is there already; overwrite it with --force")


def write_session(session: Transcript, output: Path) -> None:
    """Write a session; it is read back and compared before it takes its place.

    Raises:
        TranscriptError: it would come back changed.
    """

    def write(temporary: Path) -> None:
        dump(session, temporary)
        again = load(temporary)
        if again != session:
            raise TranscriptError(
                f"not written: its {_difference(session, again)} would come back changed. Please "
                "report it, with the recording if you can.",
                path=output,
            )

    write_atomically(output, write)


def _difference(one: Transcript, other: Transcript) -> str:
    for index, (a, b) in enumerate(zip(one.messages, other.messages, strict=False)):
        if a != b:
            return f"message {index}"
    names = (field.name for field in fields(Transcript))
    return next(name for name in names if getattr(one, name) != getattr(other, name))
