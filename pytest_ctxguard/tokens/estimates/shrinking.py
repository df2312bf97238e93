"""Make a text that shows an error as short as it gets."""

from __future__ import annotations

from collections.abc import Callable


def shrink(text: str, *, shows: Callable[[str], bool]) -> str:
    """Return a shorter text that still shows the error; the same for the same text.

    Stretches go, first halves and last single characters, each once from left to right.

    Args:
        text: one that shows it.
        shows: tells whether a text shows it.
    """
    size = (len(text) + 1) // 2
    while size:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            if shorter and shows(shorter):
                text = shorter
            else:
                start += size
        size //= 2
    return text
