"""``pytest-ctxguard transcript plant``: facts put into a recording, which stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pytest_ctxguard.cli.sessions import FILE, RUN, check_output, write_session
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript import planting
from pytest_ctxguard.transcript.loading import choose, read
from pytest_ctxguard.transcript.matching import MATCHES
from pytest_ctxguard.transcript.model import FACT_KINDS, LIFETIMES
from pytest_ctxguard.transcript.placing import LEVELS, Plant
from pytest_ctxguard.transcript.plant_files import read_plants

NEEDED = {"value": "--value", "text": "--text", "wordings": "--wording"}


@click.command()
@click.argument("file", type=FILE)
@click.option("-o", "--output", required=True, type=FILE, help="The .jsonl file to write.")
@RUN
@click.option("--force", is_flag=True, help="Overwrite the output if it is there.")
@click.option("--facts", "facts", type=FILE, help="A YAML or JSON file with a list of facts.")
@click.option("--fact", "name", metavar="NAME", help="Name of one fact, said by these options:")
@click.option("--value", help="What is planted.")
@click.option("--text", help="The sentence that says it, with {value}.")
@click.option("--wording", "wordings", multiple=True, help="A question for it; repeatable.")
@click.option("--turn", type=int, help="In which turn it is said, from 1.")
@click.option("--depth", type=float, help="Or where, in tokens: 0 the start, 1 the end.")
@click.option("--level", type=click.Choice(LEVELS), help="Who says it (default: user).")
@click.option("--reply", help="Say it in a turn of its own, with this answer.")
@click.option("--asked-turn", type=int, help="The turn that a probe replaces (default: none).")
@click.option("--kind", type=click.Choice(FACT_KINDS), help="Default: identifier.")
@click.option("--shape", help="Regular expression of any candidate value (default: by the value).")
@click.option("--accept", "accepts", multiple=True, help="An accepted answer; repeatable.")
@click.option("--look-alike", "look_alikes", multiple=True, help="A wrong value; repeatable.")
@click.option("--lifetime", type=click.Choice(LIFETIMES), help="Default: session.")
@click.option("--match", type=click.Choice(MATCHES), help="Default: word.")
@click.option("--supersedes", multiple=True, help="An older value; repeatable.")
@click.option("--link", "links", multiple=True, help="Another fact that it needs; repeatable.")
def plant(
    file: Path, output: Path, run: int | None, force: bool, facts: Path | None, **fields: Any
) -> None:
    """Write a copy of FILE with facts planted in it (docs/facts.md); FILE stays as it is."""
    check_output(output, file, force=force)
    plants = [*(read_plants(facts) if facts else ()), *_one(fields)]
    if not plants:
        raise UsageError("no fact to plant: name one with --fact, or a file of them with --facts")
    session = choose(read(file), run, path=file)
    planted = planting.plant(session, *plants, count=RequestEncoder().count)
    write_session(planted, output)
    where = (planted.fact(each.name) for each in plants)
    said = ", ".join(f"{fact.name} in message {fact.planted_at}" for fact in where)
    click.echo(f"{output}: {said}")


def _one(fields: dict[str, Any]) -> tuple[Plant, ...]:
    """Return the fact that the options say, if they do."""
    given = {name: value for name, value in fields.items() if value not in (None, ())}
    if not given:
        return ()
    if "name" not in given:
        raise UsageError("the options say a fact without a name; give it one with --fact")
    missing = [option for name, option in NEEDED.items() if name not in given]
    if missing:
        raise UsageError(f"fact {given['name']!r} has no {missing[0]}")
    return (Plant(**given),)
