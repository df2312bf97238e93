"""Progress on stderr: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from pytest_ctxguard.progress import Progress, no_progress


@contextmanager
def progress() -> Iterator[Progress]:
    """Give a function that takes label, done and total."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield no_progress
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[label] = bar.add_task(label, total=total)
            bar.update(tasks[label], completed=done, total=total)

        yield report
