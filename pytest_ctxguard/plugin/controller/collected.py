"""What there was to run: which guarded tests were collected, and why they may not be all.

Under xdist the workers collect, each of them everything, and the controller nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pytest_ctxguard.baseline import SUFFIX, module_path
from pytest_ctxguard.plugin.names import is_guarded
from pytest_ctxguard.plugin.settings.options import is_worker
from pytest_ctxguard.report.beside_baseline import module_of
from pytest_ctxguard.report.run import BROKEN, Collection

COLLECTED = "ctxguard_collected"  # in workeroutput


class Collecting:
    """The part of the plugin that notes what is collected; it looks, and changes nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.guarded: dict[str, Path] = {}  # node id -> file
        self.modules: set[str] = set()
        self.files: dict[str, Path] = {}  # baseline files, relative to the root
        self.narrowed: dict[str, None] = {}
        self._told: list[Collection] = []

    def pytest_collect_file(self, file_path: Path) -> None:
        """Note the baseline files of collected folders.

        pytest shows those of the folders above, too, which it only passes through.
        """
        root = self.config.rootpath
        if file_path.name.endswith(SUFFIX) and file_path.is_relative_to(root):
            asked = (self._path(argument) for argument in self.config.args)
            if any(path in file_path.parents for path in asked):
                self.files[file_path.relative_to(root).as_posix()] = file_path

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note which modules were collected."""
        if report.passed:
            self.modules.add(report.nodeid)
        elif report.failed:
            self.narrowed[BROKEN] = None

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note a guarded test, before any other plugin deselects it or edits its node id."""
        if is_guarded(item):
            self.guarded[item.nodeid] = item.path

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that guarded tests were left out."""
        if any(map(is_guarded, items)):
            self.narrowed["tests were deselected"] = None

    def pytest_sessionfinish(self) -> None:
        """Send what was collected from a worker to the controller."""
        if is_worker(self.config):
            told = json.dumps(asdict(self.own()))
            self.config.workeroutput[COLLECTED] = told  # type: ignore[attr-defined]  # xdist's

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take that from a worker; one that was killed says nothing."""
        told = getattr(node, "workeroutput", {}).get(COLLECTED)
        if told is not None:
            rows = json.loads(told).items()
            self._told.append(Collection(**{name: tuple(values) for name, values in rows}))

    @property
    def collection(self) -> Collection:
        """What there was to run, in all processes."""
        return joined([self.own(), *self._told])

    def own(self) -> Collection:
        """Return what this process collected."""
        named = self._named()
        partly = {module_of(id) for id, path in self.guarded.items() if path in named}
        narrowed = list(self.narrowed)
        if named:
            narrowed.append("only some tests were named")
        if self.config.getoption("lf", False):  # it leaves out whole modules, and does not say so
            narrowed.append("--lf")
        return Collection(
            guarded=tuple(sorted(self.guarded)),
            narrowed=tuple(sorted(narrowed)),
            partly=tuple(sorted(partly)),
            gone=tuple(sorted(self._gone())),
            unguarded=tuple(sorted(self._unguarded())),
        )

    def _named(self) -> set[Path]:
        """Return the modules that a node id on the command line names a test of."""
        ids = [argument for argument in self.config.args if "::" in argument]
        paths = {self._path(id) for id in ids}
        if self.config.getoption("pyargs", False) and ids:  # names of modules, not their paths
            paths |= set(self.guarded.values())
        return paths

    def _path(self, argument: str) -> Path:
        """Return the file or folder that an argument of the command line names."""
        return (self.config.invocation_params.dir / module_of(argument)).resolve()

    def _gone(self) -> Iterator[str]:
        paths = map(PurePosixPath, self.modules)  # not all are Python's: other plugins collect, too
        collected = {path.parent / path.stem for path in paths}
        for name, path in self.files.items():
            stem = PurePosixPath(name.removesuffix(SUFFIX))
            if stem not in collected and not path.with_name(module_path(path.name)).exists():
                yield name

    def _unguarded(self) -> Iterator[str]:
        guarded = {module_of(nodeid) for nodeid in self.guarded}
        for name in self.files:
            module = module_path(name)
            if module in self.modules and module not in guarded:
                yield name


def joined(collections: list[Collection]) -> Collection:
    """Return what several processes collected, together."""

    def union(name: str) -> tuple[str, ...]:
        return tuple(sorted({each for one in collections for each in getattr(one, name)}))

    return Collection(**{field.name: union(field.name) for field in fields(Collection)})
