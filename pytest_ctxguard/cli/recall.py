"""``pytest-ctxguard recall``: ask for needles, and rebuild the prompt of a trial."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from pytest_ctxguard.cli.asking import means
from pytest_ctxguard.cli.options import BUDGET, FRESH, MODEL, TRANSCRIPTS
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.catalogue import Entry, policy_named, reference_policies
from pytest_ctxguard.policies.catalogue import Setting as Made
from pytest_ctxguard.recall.needles.depths import SPACINGS, Spacing, given_depths
from pytest_ctxguard.recall.needles.haystack import LAYOUTS, Layout
from pytest_ctxguard.recall.needles.planted import KIND, parse_plant_recipe
from pytest_ctxguard.recall.needles.recipe import HAYSTACKS, parse_recipe
from pytest_ctxguard.recall.needles.running import Setting, ask, show
from pytest_ctxguard.recall.needles.sample import Needle, drawn, prompt_digest, uncut
from pytest_ctxguard.recall.summarising import SUMMARY_TOKENS
from pytest_ctxguard.report.printable import printable_lines
from pytest_ctxguard.report.tables.recall import recall_json
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find

OF_ONE_TRANSCRIPT = ("facts-only", "sub-agent-scope", "sub-agent-report")
"""Policies that are made for the places of one transcript's facts; a recall has many."""


@click.group()
def recall() -> None:
    """Ask for needles in haystacks: was it carried, was it answered, and what instead."""


@recall.command()
@click.option("--haystack", type=click.Choice(list(HAYSTACKS)), default="register")
@click.option(
    "--records", default="25", show_default=True, metavar="N[,N…]", help="Length, or several."
)
@click.option(
    "--depths",
    default="9",
    show_default=True,
    metavar="N|D[,D…]",
    help="How many depths, or which: 0 is the first record, 1 the last; 0.5 alone is the middle.",
)
@click.option("--spacing", type=click.Choice(SPACINGS), default="linear", show_default=True)
@click.option("--trials", type=click.IntRange(min=1), default=32, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--layout", type=click.Choice(LAYOUTS), default="message", show_default=True)
@click.option(
    "--look-alikes",
    type=click.IntRange(min=0),
    help="How many of the other records look like the answer; default all.",
)
@click.option("--policy", "name", default="full-history", show_default=True, metavar="NAME")
@BUDGET
@MODEL
@FRESH
@click.option("--json", "as_json", is_flag=True, help="Print JSON, each trial with its recipe.")
def run(
    haystack: str,
    records: str,
    depths: str,
    spacing: Spacing,
    trials: int,
    seed: int,
    layout: Layout,
    look_alikes: int | None,
    name: str,
    budget: int,
    model: str | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Ask for needles, in a cell for each length and depth, under a reference policy."""
    sample = drawn(
        haystack,
        records=[int(n) for n in _numbers("--records", records, whole=True)],
        depths=given_depths(
            int(depths) if depths.isdecimal() else _numbers("--depths", depths), spacing=spacing
        ),
        trials=trials,
        seed=seed,
        layout=layout,
        look_alikes=look_alikes,
    )
    entry = _entry(name)
    encoder = RequestEncoder()
    with means(model, encoder=encoder, summary_tokens=SUMMARY_TOKENS, fresh=fresh) as asked:
        first = next(iter(sample.cells[0].needles.values())).transcript
        setting = Setting(
            policy=entry.make(Made(first, budget)),
            counter=encoder,
            budget=budget,
            summariser=asked.summariser if entry.summarises else None,
        )
        done = ask(sample, show(sample, setting), setting=setting, asker=asked.asker)
    if as_json:
        printed = {
            "model": asked.model,
            **recall_json(done),
            "spent": asdict(done.spent),
        }
        click.echo(json.dumps(printed, indent=2))
        return
    from pytest_ctxguard.cli import printing
    from pytest_ctxguard.report.tables.recall_table import recall_table

    printing.show([recall_table(done, model=asked.model)])


@recall.command()
@click.argument("recipe")
@TRANSCRIPTS
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the messages.")
def rebuild(recipe: str, transcripts: tuple[Path, ...], as_json: bool) -> None:
    """Print the uncut prompt of a trial from its RECIPE, which reports show.

    To the letter in a file or pipe; a terminal is shown control characters spelled out.
    """
    encoder = RequestEncoder()
    needle = _read(recipe, encoder, folders=transcripts)
    transcript = needle.transcript
    (fact,) = transcript.facts
    request = uncut(transcript)
    built = {
        "recipe": str(needle),
        "answer": fact.value,
        "tokens": encoder.count(request, tools=transcript.tools),
        "counter": encoder.name,
        "digest": prompt_digest(request, transcript),
    }
    if as_json:
        whole = {**built, "messages": request, "tools": transcript.tools}
        click.echo(json.dumps(whole, indent=2, ensure_ascii=False))
        return
    for key, value in built.items():
        click.echo(printable_lines(f"{key:<9}{value}"), err=True)
    prompt = encoder.render(request, tools=transcript.tools)
    shown = printable_lines(prompt) if sys.stdout.isatty() else prompt
    click.echo(shown, color=True)  # else click takes terminal codes out of a pipe's text


def _read(recipe: str, encoder: RequestEncoder, *, folders: Sequence[Path]) -> Needle:
    if not recipe.startswith(f"{KIND}:"):
        return parse_recipe(recipe)
    return parse_plant_recipe(
        recipe, load=lambda name: find(name, folders=folders), count=encoder.count
    )


def _entry(name: str) -> Entry:
    known = {k: v for k, v in reference_policies().items() if k not in OF_ONE_TRANSCRIPT}
    if name in OF_ONE_TRANSCRIPT:
        raise UsageError(
            f"{name} is made for the facts of one transcript, and a recall has many; there are: "
            f"{', '.join(known)}"
        )
    return policy_named(name, known)


def _numbers(option: str, text: str, *, whole: bool = False) -> list[float]:
    kind = int if whole else float
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if whole else "numbers from 0 to 1"
        raise UsageError(f"{option} {text!r}: give {what}, with commas between them") from None
