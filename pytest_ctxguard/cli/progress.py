"""Progress on stderr: a bar on a terminal, one line per kind of work elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pytest_ctxguard.engine.fetch import Progress as Report


@contextmanager
def progress() -> Iterator[Report]:
    """Give a function that takes label, done and total."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _one_line_each()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[label] = bar.add_task(label, total=total)
            bar.update(tasks[label], completed=done, total=total)

        yield report


def _one_line_each() -> Report:
    seen: set[str] = set()

    def report(label: str, done: int, total: int) -> None:
        if label not in seen:
            seen.add(label)
            click.echo(label, err=True)

    return report
