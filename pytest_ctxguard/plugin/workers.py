"""Between xdist's controller and its workers: the shared model, and what asking it took."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ctxguard.plugin.opening import FOLDER
from pytest_ctxguard.plugin.options import is_worker
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.plugin.worker_progress import Announcer
from pytest_ctxguard.recall.asking import Spent
from pytest_ctxguard.report.printable import printable_lines
from pytest_ctxguard.report.terminal import Line, spent_lines

if TYPE_CHECKING:
    from pytest_ctxguard.plugin.sharing import Sharing

SPENT = "ctxguard_spent"  # in workeroutput


class Workers:
    """The part of the plugin that joins the processes of a run, be it a single one."""

    def __init__(self, config: pytest.Config, services: Services) -> None:
        self.config, self.services = config, services
        self._spent, self._notes = Spent(), list[str]()
        self._sharing: Sharing | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the run's one model is shared."""
        if self._sharing is None:
            from pytest_ctxguard.plugin.sharing import Sharing

            self._sharing = Sharing()
            self.config.add_cleanup(self._sharing.close)
            announcer = Announcer(self._sharing.folder, self._announce)
            announcer.start()
            self.config.add_cleanup(announcer.close)  # before the folder goes: last in, first out
        node.workerinput[FOLDER] = str(self._sharing.folder)

    def _announce(self, text: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(printable_lines(text))

    def pytest_sessionfinish(self) -> None:
        """Send what asking took from a worker to the controller."""
        if is_worker(self.config):
            told = json.dumps([asdict(self.services.spent), self.services.notes])
            self.config.workeroutput[SPENT] = told  # type: ignore[attr-defined]  # xdist's

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take that from a worker; one that was killed says nothing."""
        told = getattr(node, "workeroutput", {}).get(SPENT)
        if told is not None:
            spent, notes = json.loads(told)
            self._spent += Spent(**spent)
            self._notes += notes

    def lines(self) -> Iterator[Line]:
        """Yield what asking the model took in all processes, and what they noted."""
        notes = dict.fromkeys([*self._notes, *self.services.notes])
        yield from spent_lines(self._spent + self.services.spent, notes=tuple(notes))
