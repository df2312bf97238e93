"""``pytest-ctxguard drift``: what is left of a fact after one, two, … cycles of compaction."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pytest_ctxguard.cli.asking import means
from pytest_ctxguard.cli.options import BUDGET, FRESH, MODEL, TRANSCRIPTS
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.catalogue import Setting, reference_policies
from pytest_ctxguard.recall.drift import drift as drifted
from pytest_ctxguard.recall.summarising import SUMMARY_TOKENS
from pytest_ctxguard.replay.run import Plan
from pytest_ctxguard.report.tables.drift import cycle_json, render_cycles
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find


@click.command()
@click.argument("transcript")
@click.option("--policy", default="compaction", show_default=True, help="One that summarises.")
@BUDGET
@MODEL
@click.option(
    "--summary-tokens",
    type=click.IntRange(min=1),
    default=SUMMARY_TOKENS,
    show_default=True,
    help="Longest summary.",
)
@TRANSCRIPTS
@FRESH
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def drift(
    transcript: str,
    policy: str,
    budget: int,
    model: str | None,
    summary_tokens: int,
    transcripts: tuple[Path, ...],
    fresh: bool,
    as_json: bool,
) -> None:
    """Ask for the facts of TRANSCRIPT after each compaction since they were planted.

    The probe takes the place of the first user message after the compaction. Summaries and
    answers are the model's.
    """
    known = {name: entry for name, entry in reference_policies().items() if entry.summarises}
    if policy not in known:
        raise UsageError(
            f"no policy that summarises is named {policy!r}; there are: {', '.join(known)}"
        )
    encoder = RequestEncoder()
    setting = Setting(find(transcript, folders=transcripts), budget)
    asking = means(model, encoder=encoder, summary_tokens=summary_tokens, fresh=fresh)
    with asking as asked:
        plan = Plan(
            transcript=setting.transcript,
            policy=known[policy].make(setting),
            counter=encoder,
            budget=budget,
            summariser=asked.summariser,
            label=policy,
        )
        cycles = drifted(plan, ask=asked.interviewer.answers)
    head = {
        "transcript": setting.transcript.name,
        "policy": policy,
        "budget": budget,
        "model": asked.model,
        "summariser": asked.summariser.name,
    }
    if as_json:
        rows = [cycle_json(cycle) for cycle in cycles]
        click.echo(json.dumps({**head, "cycles": rows}, indent=2))
        return
    from pytest_ctxguard.cli.printing import show

    title = (
        f"{head['transcript']} under {policy}, budget {budget:,} tokens; answered by "
        f"{head['model']}; summaries by {head['summariser']}"
    )
    show([render_cycles(cycles, title=title)])
