"""``pytest-ctxguard merge``: the reports of several machines as one verdict and one report."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_ctxguard.errors import UsageError


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--expect",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many shards there are; another number of reports fails.",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Write the merged report there: .json, .md or .html; repeatable.",
)
@click.option(
    "--baseline-root",
    "root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    metavar="DIR",
    help="pytest's root folder, in a checkout of what was tested; default this one.",
)
def merge(
    files: tuple[Path, ...], expect: int | None, reports: tuple[Path, ...], root: Path
) -> None:
    """Merge FILES, the JSON reports of all shards of one run, and give one verdict.

    Each shard ran with --ctxguard-report=shard-N.json. Exit status 0: a merge may go ahead; 1: it
    may not, or a report cannot be used.
    """
    _check_paths(files, reports)
    from pytest_ctxguard import baseline
    from pytest_ctxguard.cli.printing import show_run
    from pytest_ctxguard.report.files import write_report
    from pytest_ctxguard.report.json_file import read_run
    from pytest_ctxguard.report.merging import merge as merged
    from pytest_ctxguard.report.shards import Shard
    from pytest_ctxguard.report.step_summary import append_summary

    shards = [Shard(name=str(path), run=read_run(path)) for path in files]
    compare = shards[0].run.instruments.compare

    def read(name: str) -> baseline.Entries:
        return baseline.baseline_of(root / name, compare=compare).entries

    run = merged(shards, read=read, expected=expect)
    show_run(run)
    try:
        for path in reports:
            write_report(run, path)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            append_summary(run, Path(summary))
    except OSError as error:
        raise click.FileError(str(error.filename), str(error.strerror)) from error
    sys.exit(0 if run.passes else 1)


def _check_paths(files: tuple[Path, ...], reports: tuple[Path, ...]) -> None:
    """Refuse, before anything is read, files that are none and reports of an unknown format."""
    from pytest_ctxguard.report.files import renderer

    for path in files:
        if not path.is_file():
            is_pattern = any(sign in path.name for sign in "*?[")  # which the shell left as it was
            what = "no file has such a name" if is_pattern else "there is no such file"
            raise click.BadParameter(
                f"{path}: {what}. Look whether the shards' reports were downloaded here; each "
                "shard writes one with --ctxguard-report=shard-1.json",
                param_hint="FILES",
            )
    places = [path.resolve() for path in files]
    if twice := [path for path in files if places.count(path.resolve()) > 1]:
        raise click.BadParameter(f"{twice[0]} is given twice", param_hint="FILES")
    for path in reports:
        try:
            renderer(path)
        except UsageError as error:
            raise click.BadParameter(str(error), param_hint="--report") from None
