"""Progress on stderr: a bar with rate and time left on a terminal, only notes elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from pytest_ctxguard.progress import Progress, rate

BYTES = 10**6  # totals above this are bytes, below it steps


class AmountColumn(ProgressColumn):
    """How much is done, and how fast: ``12/490 MB 8.1 MB/s``, or ``3/25 1.4/s`` for steps."""

    def render(self, task: Task) -> Text:
        """Write the amount."""
        total = task.total or 0
        if total <= BYTES:
            steps = f" {rate(task.speed)}" if task.speed else ""
            return Text(f"{task.completed:.0f}/{total:.0f}{steps}")
        speed = f" {task.speed / 1e6:.1f} MB/s" if task.speed else ""
        return Text(f"{task.completed / 1e6:.0f}/{total / 1e6:.0f} MB{speed}")


@contextmanager
def progress() -> Iterator[Progress]:
    """Give a function that takes label, done and total; a total of 0 is a note, shown once."""
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        yield _notes_only(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        AmountColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if not total:
                console.print(label)
                return
            if label not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[label] = bar.add_task(label, total=total)
            bar.update(tasks[label], completed=done, total=total)

        yield report


def _notes_only(console: Console) -> Progress:
    def report(label: str, done: int, total: int) -> None:
        if not total:
            console.print(label)

    return report
