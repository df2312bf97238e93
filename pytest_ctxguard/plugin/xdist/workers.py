"""Between xdist's controller and its workers: who runs the model, and what asking it took."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ctxguard.plugin.opening import FOLDER, THREADS
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.plugin.settings.options import is_worker, worker_count
from pytest_ctxguard.plugin.xdist.dividing import Division, divide
from pytest_ctxguard.plugin.xdist.losing import Losing
from pytest_ctxguard.plugin.xdist.worker_progress import Announcer
from pytest_ctxguard.recall.asking import Spent
from pytest_ctxguard.report.json_file import dumps
from pytest_ctxguard.report.printable import printable_lines
from pytest_ctxguard.report.run import WORST_FIRST, TestResult

if TYPE_CHECKING:
    from pytest_ctxguard.plugin.xdist.sharing import Sharing

SPENT = "ctxguard_spent"  # in workeroutput


class Workers:
    """The part of the plugin that joins the processes of a run, be it a single one."""

    def __init__(self, config: pytest.Config, services: Services) -> None:
        self.config, self.services = config, services
        self._spent, self._notes = Spent(), list[str]()
        self._sharing: Sharing | None = None
        self._losing = Losing(config)
        config.pluginmanager.register(self._losing, "ctxguard-losing")

    @cached_property
    def division(self) -> Division | None:
        """Who runs the model for the workers of this run; None where there are none, or no model.

        A conftest's own backend, which is not asked for before a test needs it, comes first.
        """
        settings, workers = self.services.settings, worker_count(self.config)
        if not workers or settings.endpoint or settings.tier == "structure":
            return None
        from pytest_ctxguard.engine.open import usable_processors
        from pytest_ctxguard.plugin.xdist.machine import available_memory, engine_bytes

        return divide(
            settings.engine,
            workers=workers,
            cores=usable_processors(),
            available=available_memory(),
            engine=engine_bytes(settings.model or None),
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the processes of this run meet, and whose model it asks."""
        if self._sharing is None:
            from pytest_ctxguard.plugin.xdist.sharing import Sharing

            self._sharing = Sharing()
            self.config.add_cleanup(self._sharing.close)
            announcer = Announcer(self._sharing.folder, self._announce)
            announcer.start()
            self.config.add_cleanup(announcer.close)  # before the folder goes: last in, first out
        node.workerinput[FOLDER] = str(self._sharing.folder)
        division = self.division
        node.workerinput[THREADS] = division.threads if division and division.each else 0

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

    @property
    def spent(self) -> Spent:
        """What asking the model took in all processes."""
        return self._spent + self.services.spent

    @property
    def notes(self) -> tuple[str, ...]:
        """What they noted, each note once."""
        return tuple(dict.fromkeys([*self._notes, *self.services.notes]))

    def chosen(self, result: TestResult, known: TestResult | None) -> TestResult:
        """Return which result of a test counts: the last one, that of a rerun for instance.

        Under ``--dist each`` every worker runs it, and the worst counts.
        """
        if known is None or self.config.getoption("dist", "no") != "each":
            return result
        return min(result, known, key=lambda one: (WORST_FIRST.index(one.verdict), dumps(one)))

    def node_id(self, report: pytest.TestReport) -> str:
        """Return the node id that a report's test has in every distribution."""
        return self._losing.node_id(report)
