"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Takes a label, how much is done, and how much there is (bytes or steps)."""


def no_progress(label: str, done: int, total: int) -> None:
    """Tell nobody."""


def note(progress: Progress, text: str) -> None:
    """Tell something that is no step, once; it travels as a label with a total of 0."""
    progress(text, 0, 0)
