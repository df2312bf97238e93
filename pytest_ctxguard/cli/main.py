"""Entry point of the ``pytest-ctxguard`` command."""

from __future__ import annotations

import sys

import click

from pytest_ctxguard.cli.accept import accept
from pytest_ctxguard.cli.buckets import buckets
from pytest_ctxguard.cli.drift import drift
from pytest_ctxguard.cli.estimate import estimate
from pytest_ctxguard.cli.fetch import fetch
from pytest_ctxguard.cli.merge import merge
from pytest_ctxguard.cli.model import model
from pytest_ctxguard.cli.recall import recall
from pytest_ctxguard.cli.serve import serve
from pytest_ctxguard.cli.session import session
from pytest_ctxguard.cli.table import table
from pytest_ctxguard.cli.tools import tools
from pytest_ctxguard.cli.transcript import transcript
from pytest_ctxguard.errors import CtxguardError
from pytest_ctxguard.report.printable import printable_lines


@click.group()
@click.version_option(package_name="pytest-ctxguard")
def cli() -> None:
    """Put the code that decides what an LLM agent sends under test."""


cli.add_command(accept)
cli.add_command(buckets)
cli.add_command(drift)
cli.add_command(estimate)
cli.add_command(fetch)
cli.add_command(merge)
cli.add_command(model)
cli.add_command(recall)
cli.add_command(serve)
cli.add_command(session)
cli.add_command(table)
cli.add_command(tools)
cli.add_command(transcript)


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit status 1."""
    try:
        cli()
    except CtxguardError as error:
        click.echo(f"error: {printable_lines(str(error))}", err=True)
        sys.exit(1)
