"""Progress of long work inside a pytest run: a line that rewrites itself, on a terminal only."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.plugin.opening import FOLDER
from pytest_ctxguard.plugin.settings.options import is_worker
from pytest_ctxguard.plugin.xdist.worker_progress import ProgressFile
from pytest_ctxguard.progress import Pace
from pytest_ctxguard.report.printable import printable_lines


class ProgressLine:
    """Shows ``label done/total, rate, time left``, on a terminal.

    Elsewhere there is one line when a label begins, and none for steps. In an xdist worker it
    goes to a file, which the controller reads.
    """

    def __init__(
        self, config: pytest.Config, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._pace = Pace(clock)
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._label = ""
        self._file = _worker_file(config)

    def update(self, label: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` (bytes or steps) is done; a total of 0 is a note."""
        label = printable_lines(label)
        if self._file is not None:
            self._file.write(f"{label} {self._amount(label, done, total)}" if total else label)
        elif self._reporter is not None:
            with self._uncaptured():
                self._write(label, done, total)
            self._label = label

    def step(self, label: str, done: int, total: int) -> None:
        """Show the same of short work, on a terminal only."""
        if self._file is not None or (self._reporter is not None and self._reporter.isatty):
            self.update(label, done, total)

    def clear(self) -> None:
        """End the line, so that pytest's own output starts on a fresh one."""
        if self._file is not None:
            self._file.clear()
        if self._label and self._reporter is not None and self._reporter.isatty:
            with self._uncaptured():
                self._reporter.rewrite("", erase=True)
        self._label = ""

    def _uncaptured(self) -> AbstractContextManager[None]:
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()

    def _write(self, label: str, done: int, total: int) -> None:
        if not total:
            if self._reporter.isatty:
                self._reporter.rewrite("", erase=True)
            self._reporter.ensure_newline()
            self._reporter.write_line(f"ctxguard: {label}")
            return
        if self._reporter.isatty:
            amount = self._amount(label, done, total)
            self._reporter.rewrite(f"ctxguard: {label} {amount}", erase=True)
        elif label != self._label:
            self._reporter.ensure_newline()
            self._reporter.write_line(f"ctxguard: {label}")

    def _amount(self, label: str, done: int, total: int) -> str:
        if total > 10**6:
            return f"{done / 1e6:.0f}/{total / 1e6:.0f} MB"
        pace = self._pace(label, done, total)
        return f"{done}/{total}" + (f", {pace}" if pace else "")


def _worker_file(config: pytest.Config) -> ProgressFile | None:
    """Return where an xdist worker writes; None elsewhere."""
    if not is_worker(config):
        return None
    told = config.workerinput  # type: ignore[attr-defined]  # xdist's
    return ProgressFile(Path(told[FOLDER]), told["workerid"])
