"""``pytest-ctxguard buckets``: what fills the requests of a session, turn by turn."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pytest_ctxguard.cli.options import BUDGET, COUNTER, TRANSCRIPTS
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.catalogue import Entry, Setting, reference_policies
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.tokens.bucket_use import By
from pytest_ctxguard.tokens.counters.choosing import counter
from pytest_ctxguard.transcript.library import find


@click.command()
@click.argument("transcript")
@click.option("--policy", "name", default="full-history", show_default=True, metavar="NAME")
@BUDGET
@click.option(
    "--by",
    type=click.Choice(["turn", "call"]),
    help="A row for each; default turn, of a session that has several.",
)
@TRANSCRIPTS
@COUNTER
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, call by call.")
def buckets(
    transcript: str,
    name: str,
    budget: int,
    by: By | None,
    transcripts: tuple[Path, ...],
    counter_name: str,
    as_json: bool,
) -> None:
    """Say what fills the requests of TRANSCRIPT, a built-in name or a file in any known format.

    Tokens of the system message, the tool definitions, tool results, what was said, and what the
    policy put in; what is billed over all calls, and how much of it was sent at the call before.
    """
    from pytest_ctxguard.cli.printing import show
    from pytest_ctxguard.report.tables.buckets import buckets_json, render_buckets

    setting = Setting(find(transcript, folders=transcripts), budget)
    plan = Plan(
        transcript=setting.transcript,
        policy=_entry(name).make(setting),
        counter=counter(counter_name),
        budget=budget,
        label=name,
    )
    replay = run(plan)
    if as_json:
        click.echo(json.dumps(buckets_json(replay), indent=2))
        return
    show(render_buckets(replay, by=by))


def _entry(name: str) -> Entry:
    """Return a reference policy that needs no model."""
    known = {name: e for name, e in reference_policies().items() if not e.summarises}
    if name not in known:
        why = "needs a summariser" if name in reference_policies() else "is none of the policies"
        raise UsageError(f"--policy {name!r} {why}; without one there are: {', '.join(known)}")
    return known[name]
