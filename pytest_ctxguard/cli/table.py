"""``pytest-ctxguard table``: what each policy costs, keeps and answers on one transcript."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from pytest_ctxguard.cli.progress import progress
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.catalogue import reference_policies
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.recall.answers import Answers, Interviewer
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.report.table import Row, make_row, render_table, table_json
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find

PIPED_WIDTH = 160


@click.command()
@click.argument("transcript")
@click.option("--policy", "names", multiple=True, metavar="NAME", help="A policy; repeatable.")
@click.option("--policies", type=click.Choice(["all"]), help="Every reference policy.")
@click.option("--budget", type=click.IntRange(min=1), default=4000, show_default=True)
@click.option(
    "--tier",
    type=click.Choice(["structure", "model"]),
    default="model",
    show_default=True,
    help="structure asks no model.",
)
@click.option("--model", metavar="NAME", help="Model name, GGUF file or converted folder.")
@click.option(
    "--transcripts",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of your own transcripts; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def table(
    transcript: str,
    names: tuple[str, ...],
    policies: str | None,
    budget: int,
    tier: str,
    model: str | None,
    transcripts: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Compare policies on TRANSCRIPT, a built-in name or a .jsonl file.

    Per policy: billed input tokens over all calls, tokens of the last request and where they
    go, and for each planted fact whether it was still sent and how often the model gave it.
    """
    from rich.console import Console

    chosen = _choose(names, everything=policies == "all")
    encoder = RequestEncoder()
    source = find(transcript, folders=transcripts)
    replays = {}
    for name, make in chosen.items():
        policy = make()
        plan = Plan(transcript=source, policy=policy, counter=encoder, budget=budget, label=name)
        replays[name] = (policy, run(plan))
    identity = None
    answers: dict[str, dict[str, Answers]] = {}
    if tier == "model":
        identity, answers = _ask(
            {name: replay for name, (_, replay) in replays.items()}, model=model, encoder=encoder
        )
    rows: Sequence[Row] = [
        make_row(name, replay, policy=policy, answers=answers.get(name))
        for name, (policy, replay) in replays.items()
    ]
    if as_json:
        click.echo(json.dumps(table_json(source.name, rows, model=identity), indent=2))
    else:
        console = Console()
        if not console.is_terminal:  # a file or pipe has no edge to fold the table at
            console = Console(width=PIPED_WIDTH)
        console.print(render_table(source.name, rows, budget=budget, model=identity))


def _choose(names: Sequence[str], *, everything: bool) -> dict[str, Callable[[], Policy]]:
    """Return the policies asked for; all of them when none is named."""
    known = dict(reference_policies())
    for name in names:
        if name not in known:
            raise UsageError(f"no policy is named {name!r}; there are: {', '.join(known)}")
    return known if everything or not names else {name: known[name] for name in names}


def _ask(
    replays: dict[str, Replay], *, model: str | None, encoder: RequestEncoder
) -> tuple[str, dict[str, dict[str, Answers]]]:
    """Ask every probe of every replay; returns the model's identity and the answers."""
    from pytest_ctxguard.engine.open import open_backend

    with progress() as report:
        backend = open_backend(model, encoder=encoder, fetch=True, progress=report)
        interviewer = Interviewer(backend, progress=report)
        answers = {
            name: {
                fact.name: interviewer.answers(replay, fact.name)
                for fact in replay.transcript.facts
            }
            for name, replay in replays.items()
        }
    return backend.identity["model"], answers
