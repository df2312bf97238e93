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


class Pace:
    """How fast a work goes, and how long it still takes.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._label = ""
        self._start, self._first = 0.0, 0

    def __call__(self, label: str, done: int, total: int) -> str:
        """Return ``1.8/s, 1:15 left``; nothing as long as nothing was done under the label."""
        now = self._clock()
        if label != self._label or done <= self._first:
            self._label, self._start, self._first = label, now, done
        passed, made = now - self._start, done - self._first
        if made <= 0 or passed <= 0 or done >= total:
            return ""
        minutes, seconds = divmod(round((total - done) * passed / made), 60)
        return f"{rate(made / passed)}, {minutes}:{seconds:02} left"


def rate(per_second: float) -> str:
    """Return how many steps are done in a second, or in a minute where that is none."""
    return f"{per_second:.1f}/s" if per_second >= 1 else f"{60 * per_second:.1f}/min"
