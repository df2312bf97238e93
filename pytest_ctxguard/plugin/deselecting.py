"""Without ``--ctxguard``: guarded tests are deselected, and one line says so."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ctxguard.plugin.names import is_guarded
from pytest_ctxguard.plugin.settings.options import is_worker

OUTPUT = "ctxguard_deselected"


class Deselecting:
    """Leaves guarded tests out; skipping them would clear ``--lf``."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.count = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect the guarded tests."""
        guarded = [item for item in items if is_guarded(item)]
        if guarded:
            self.count = len(guarded)
            items[:] = [item for item in items if not is_guarded(item)]
            self.config.hook.pytest_deselected(items=guarded)

    def pytest_sessionfinish(self) -> None:
        """Send the count from a worker to the controller."""
        if is_worker(self.config):
            self.config.workeroutput[OUTPUT] = self.count  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the count from a worker; every worker collects all tests."""
        self.count = max(self.count, getattr(node, "workeroutput", {}).get(OUTPUT, 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many tests were left out, and how to run them."""
        if self.count:
            tests = "test" if self.count == 1 else "tests"
            terminalreporter.write_line(
                f"ctxguard: {self.count} guarded {tests} deselected; run with --ctxguard"
            )
