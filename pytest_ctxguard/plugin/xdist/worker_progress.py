"""Progress under xdist: each worker writes down how far it is, and the controller announces it.

A worker has no terminal, and xdist writes to the controller's. So there is no line that rewrites
itself, but a whole one now and then, on a terminal and elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

EVERY_SECONDS = 20.0
PREFIX = "progress-"


class ProgressFile:
    """A worker's part: a file that says how far it is.

    Args:
        folder: the run's, as the controller made it; it may be gone before the worker.
        worker: its name, such as ``gw0``.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        self._path = folder / f"{PREFIX}{worker}"

    def write(self, text: str) -> None:
        """Put a text in the place of the one before."""
        with suppress(OSError):  # no reason for a test to fail
            self._path.write_text(text, encoding="utf-8")

    def clear(self) -> None:
        """Say that the work is done."""
        with suppress(OSError):
            self._path.unlink()


class Announcer:
    """The controller's part: says what the workers have written since it last did.

    Args:
        folder: the run's.
        say: writes a line.
    """

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        self._folder, self._say = folder, say
        self._said: dict[str, str] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Say it from now on, every so many seconds."""
        self._thread.start()

    def close(self) -> None:
        """Say nothing more."""
        self._end.set()
        self._thread.join()

    def announce(self) -> None:
        """Say what is new, of all workers in one line; nothing where nothing is."""
        paths = sorted(self._folder.glob(f"{PREFIX}*"))
        found = {path.name.removeprefix(PREFIX): _text(path) for path in paths}
        new = [(name, text) for name, text in found.items() if text != self._said.get(name, "")]
        self._said = found
        if new:
            self._say("ctxguard: " + "; ".join(f"{name}: {text}" for name, text in new))

    def _run(self) -> None:
        while not self._end.wait(EVERY_SECONDS):
            self.announce()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # done just now, or half written
        return ""
