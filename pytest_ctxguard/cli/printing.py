"""Print a report's parts: to a terminal at its width, to a file or pipe at one that folds none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator

import click
from rich.console import Console, RenderableType
from rich.text import Text

from pytest_ctxguard.report.run import Run
from pytest_ctxguard.report.terminal.screen import Line, Screen
from pytest_ctxguard.report.terminal.section import closing_lines, effort_lines, summary_lines

PIPED_WIDTH = 160


def show(parts: Iterable[RenderableType]) -> None:
    """Print tables and lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED_WIDTH)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text) and not console.is_terminal)


def show_run(run: Run) -> None:
    """Print a run as pytest does, the findings of all of it last."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
    screen = Screen(width=width, encoding=sys.stdout.encoding or "utf-8")
    for text, styles in _run_lines(run, screen):
        colour = next((style for style in styles if style != "bold"), None)
        click.secho(text, fg=colour, bold="bold" in styles)


def _run_lines(run: Run, screen: Screen) -> Iterator[Line]:
    yield from summary_lines(run, screen)
    yield from effort_lines(run.effort, screen)
    yield from closing_lines(run, screen)
