"""``pytest-ctxguard tools``: what a session's tool definitions cost, and which were called."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pytest_ctxguard.cli.options import COUNTER, TRANSCRIPTS
from pytest_ctxguard.tokens.catalogue import audit
from pytest_ctxguard.tokens.counters.choosing import counter
from pytest_ctxguard.transcript.library import find


@click.command()
@click.argument("transcript")
@TRANSCRIPTS
@COUNTER
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def tools(transcript: str, transcripts: tuple[Path, ...], counter_name: str, as_json: bool) -> None:
    """Audit the tools of TRANSCRIPT, a built-in name or a file in any known format.

    Tokens of each definition and of its parameters' prose, the tools never called, the calls of
    tools that do not exist, and what a shorter catalogue would save.
    """
    from pytest_ctxguard.cli.printing import show
    from pytest_ctxguard.report.tables.catalogue import catalogue_json, render_catalogue

    session = find(transcript, folders=transcripts)
    catalogue = audit(session, counter=counter(counter_name))
    if as_json:
        click.echo(json.dumps(catalogue_json(catalogue, transcript=session.name), indent=2))
        return
    show(render_catalogue(catalogue, transcript=session.name))
