"""``pytest-ctxguard accept``: put what the last run measured into the baseline, with the reason."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.report.printable import printable_lines

LAST_RUN = Path(".pytest_cache") / "v" / "ctxguard" / "last-run.json"


@click.command()
@click.argument("nodeid")
@click.option("--reason", required=True, help="Why this is right; it is kept in the baseline.")
@click.option(
    "--from",
    "report",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A report of the run, written with --ctxguard-report, for instance by CI (default: what "
    "the last run here left in pytest's cache).",
)
@click.option("--label", help="Only what has this name= in the test.")
@click.option("--metric", help="Only this metric.")
def accept(
    nodeid: str, reason: str, report: Path | None, label: str | None, metric: str | None
) -> None:
    """Accept what the test NODEID measured in the last run, in place of its baseline.

    Prints each value that changes: the old one, and the new one. Nothing is run.
    """
    from pytest_ctxguard.baseline import baseline_path, edited
    from pytest_ctxguard.report.accepting import accepted, find_changes, find_test
    from pytest_ctxguard.report.beside_baseline import describe
    from pytest_ctxguard.report.json_file import read_run

    if not reason.strip():
        raise UsageError("--reason is empty; say why the new value is right")
    run = read_run(report or _last_run())
    test = find_test(run, nodeid)
    changes = find_changes(run, nodeid, label=label, metric=metric)
    path = baseline_path(_module(nodeid))  # a report may come from elsewhere, and names no file
    edited(path, partial(accepted, changes=changes, key=test.key, reason=reason.strip()))
    for change in changes:
        was = "nothing" if change.was is None else change.was
        click.echo(printable_lines(f"{describe(change)}: {was} -> {change.now}"))


def _folders() -> tuple[Path, ...]:
    here = Path.cwd()
    return (here, *here.parents)


def _last_run() -> Path:
    """Return what the last run left in this project."""
    found = next((path for each in _folders() if (path := each / LAST_RUN).is_file()), None)
    if found is None:
        raise UsageError(
            f"there is no {LAST_RUN} here or above: run pytest --ctxguard first, or give the "
            "report of a run with --from (where cache_dir is another folder, its "
            "v/ctxguard/last-run.json)"
        )
    return found


def _module(nodeid: str) -> Path:
    """Return the module of a node id, which is relative to the root of the project."""
    name = nodeid.partition("::")[0]
    found = next((path for each in _folders() if (path := each / name).is_file()), None)
    if found is None:
        raise UsageError(f"there is no {name} here or above: accept in the project it is of")
    return found
