"""Tests whose worker dies in the middle of them: they are in the report, as an error.

Each worker writes down, before the first test, what every guarded one of them comes to if nothing
is heard of it again. xdist's controller knows a lost test by its name alone, and under
``--dist loadgroup`` not even by that.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.plugin.names import is_guarded
from pytest_ctxguard.plugin.opening import FOLDER
from pytest_ctxguard.plugin.results import PAYLOAD, lost_result
from pytest_ctxguard.plugin.settings.options import is_worker
from pytest_ctxguard.report.json_file import dumps, test_result


class Losing:
    """The part of the plugin that knows a test whose worker is gone."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._lost: dict[str, str] = {}  # xdist's node id -> what it then comes to, as JSON

    @pytest.hookimpl(tryfirst=True)  # before xdist tells the controller that it is there
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write down what a worker's tests come to if it dies."""
        if is_worker(self.config):
            told: Any = self.config.workerinput  # type: ignore[attr-defined]  # xdist's
            guarded = [item for item in session.items if is_guarded(item)]
            text = json.dumps({item.nodeid: dumps(lost_result(item)) for item in guarded})
            path = _path(told[FOLDER], told["workerid"])
            if path.parent.is_dir():  # on this machine
                write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Read it, in the controller."""
        path = _path(node.workerinput[FOLDER], node.workerinput["workerid"])
        if path.exists():
            self._lost |= json.loads(path.read_text(encoding="utf-8"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Put it on the report that xdist makes of a test that was lost."""
        if crashitem in self._lost:
            setattr(report, PAYLOAD, self._lost[crashitem])

    def node_id(self, report: pytest.TestReport) -> str:
        """Return the node id that a report's test has in every distribution."""
        lost = self._lost.get(report.nodeid)
        return report.nodeid if lost is None else test_result(lost).nodeid


def _path(folder: str, worker: str) -> Path:
    return Path(folder, f"tests-{worker}.json")
