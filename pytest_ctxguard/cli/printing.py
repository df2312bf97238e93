"""Print a report's parts: to a terminal at its width, to a file or pipe at one that folds none."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.text import Text

PIPED_WIDTH = 160


def show(parts: Iterable[RenderableType]) -> None:
    """Print tables and lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED_WIDTH)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text) and not console.is_terminal)
