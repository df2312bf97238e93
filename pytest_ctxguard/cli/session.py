"""``pytest-ctxguard session``: prefixes and cost of recorded traffic, with no policy at all."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pytest_ctxguard.cli.options import COUNTER
from pytest_ctxguard.cli.sessions import FILE, RUN
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.providers import told_provider
from pytest_ctxguard.prefix.rules import find_rule, load_rules
from pytest_ctxguard.tokens.counters.choosing import counter
from pytest_ctxguard.transcript.loading import choose, read


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--provider", metavar="NAME", help="Cache rules; default those of the models on record."
)
@click.option(
    "--rules", type=FILE, help="TOML file of cache rules, beside the built-in ones and over them."
)
@RUN
@COUNTER
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def session(
    file: Path,
    provider: str | None,
    rules: Path | None,
    run: int | None,
    counter_name: str,
    as_json: bool,
) -> None:
    """Judge what FILE, a cassette or session log, really sent.

    Input tokens, where the prefix breaks and why, what it costs with the provider's prompt cache,
    and what the provider told. Without --run: all of its sessions, in the order they were sent.
    Exit status 1 only if FILE cannot be read whole or judged: a gate is a test (`ctx_session`).
    """
    from pytest_ctxguard.cli.printing import show
    from pytest_ctxguard.report.tables.session import measure_session, render_session

    known = load_rules(rules)
    found = read(file)
    runs = found.runs if run is None else (choose(found, run, path=file),)
    name = provider or told_provider(runs)
    if not name:
        raise UsageError(
            f"{file} names no model whose cache is known. Say whose rules it goes by: --provider "
            f"NAME, one of {', '.join(sorted(known))}"
        )
    measured = measure_session(runs, rule=find_rule(known, name), counter=counter(counter_name))
    if as_json:
        click.echo(json.dumps(measured.as_json(), indent=2))
        return
    show(render_session(measured, title=str(file)))
