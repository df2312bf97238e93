"""The controller's part: it joins what the tests came to, and alone writes and decides at the end.

Where tests run in one process, that process is the controller.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pytest_ctxguard.plugin.controller.collected import Collecting
from pytest_ctxguard.plugin.controller.keeping import check_compare, keep, leave
from pytest_ctxguard.plugin.controller.publishing import Publishing
from pytest_ctxguard.plugin.results import PAYLOAD
from pytest_ctxguard.plugin.settings.options import worker_count
from pytest_ctxguard.plugin.settings.settings import Settings
from pytest_ctxguard.plugin.settings.table import DEFAULT_COUNTER
from pytest_ctxguard.plugin.xdist.workers import Workers
from pytest_ctxguard.report.json_file import test_result
from pytest_ctxguard.report.run import Effort, Instruments, Run, TestResult
from pytest_ctxguard.report.whole_run import nothing_judged, uncollected


class Controlling:
    """The part of the plugin that knows the whole run."""

    def __init__(
        self,
        config: pytest.Config,
        settings: Settings,
        workers: Workers,
        *,
        collecting: Collecting,
        publishing: Publishing,
    ) -> None:
        self.config, self.settings, self.workers = config, settings, workers
        self.collecting, self.publishing = collecting, publishing
        self.results: dict[str, TestResult] = {}
        self._broken_parts: set[str] = set()  # node ids of tests of which a subtest failed
        self.run = Run()
        check_compare(settings, config.rootpath)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")

    def pytest_report_header(self) -> str:
        """Say what this run is judged with."""
        settings = self.settings
        model = f"model {settings.model or 'qwen2.5-coder-0.5b-instruct'} ({settings.model_reason})"
        if self.workers.division is not None:
            model += f", {self.workers.division}"
        if settings.endpoint:
            model = f"endpoint {settings.endpoint} ({settings.endpoint_reason})"
        tier = "structure tier, no model" if settings.tier == "structure" else model
        counter = settings.counter
        if counter != DEFAULT_COUNTER:
            counter += f" ({settings.counter_reason})"
        return f"ctxguard: counter {counter}; {tier}{_baseline(settings)}"

    @pytest.hookimpl(tryfirst=True)  # before pytest's own writer of JUnit XML reads the report
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test came to, from this process or from a worker's report."""
        text = getattr(report, PAYLOAD, None)
        result = None if text is None else test_result(text)
        self.publishing.add_properties(report, result)
        if result is not None:
            if hasattr(report, "context"):  # of a part: the fixture subtests, unittest's subTest
                self._broken_parts |= {result.nodeid} if report.failed else set()
                return
            if result.nodeid in self._broken_parts:
                result = _with_broken_part(result)
            self.results[result.nodeid] = self.workers.chosen(
                result, self.results.get(result.nodeid)
            )
        elif report.when == "teardown" and report.failed:
            nodeid = self.workers.node_id(report)
            if nodeid in self.results:
                result = self.results[nodeid]
                note = "\n  ".join(filter(None, [result.note, "its teardown failed"]))
                self.results[nodeid] = replace(
                    result,
                    outcome="failed",
                    verdict="error",
                    message=result.message or "its teardown failed",
                    note=note,
                )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write baselines and reports; only the controller does."""
        tests = tuple(self.results[nodeid] for nodeid in sorted(self.results))
        kept = keep(
            tests,
            collection=self.collecting.collection,
            settings=self.settings,
            root=self.config.rootpath,
        )
        self.run = Run(
            tests=tests,
            findings=kept.findings,
            changes=kept.changes,
            written=kept.written,
            removed=kept.removed,
            collection=kept.collection,
            instruments=self._instruments(),
            tolerated=self.settings.tolerate_inconclusive,
            effort=self._effort(),
        )
        if broken := uncollected(self.run):
            self.run = replace(self.run, findings=(*self.run.findings, broken))
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            self._judge_whole(session)
        self.publishing.publish(self.run, session)
        if not self.config.option.collectonly:  # or nothing could be accepted any more
            leave(self.publishing.run, self.config)

    def _judge_whole(self, session: pytest.Session) -> None:
        """Fail a session that would pass, by what only the run as a whole tells."""
        if self.config.option.collectonly:
            return
        if nothing := nothing_judged(self.run):
            self.run = replace(self.run, findings=(*self.run.findings, nothing))
        if not self.run.passes:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _instruments(self) -> Instruments:
        settings = self.settings
        return Instruments(
            tier=settings.tier,
            counter=settings.counter,
            model=settings.endpoint or settings.model,
            seed=settings.seed,
            compare=settings.compare,
        )

    def _effort(self) -> Effort:
        spent = self.workers.spent
        return Effort(
            started=self._started,
            seconds=round(time.monotonic() - self._began, 3),
            workers=worker_count(self.config),
            asked=spent.asked,
            kept=spent.kept,
            prompt_tokens=spent.prompt_tokens,
            computed_tokens=spent.computed_tokens,
            model_seconds=spent.seconds,
            notes=self.workers.notes,
        )


def _with_broken_part(result: TestResult) -> TestResult:
    """Return a test one of whose subtests failed: what else it came to does not make it pass.

    pytest fails such a test only once it prints it, and a unittest case not at all.
    """
    if result.verdict in ("error", "fail"):
        return result
    return replace(result, outcome="failed", verdict="fail", message="a subtest of it failed")


def _baseline(settings: Settings) -> str:
    """Return what the header says of the baseline; nothing where it is read as it is."""
    if settings.compare:
        return f"; against the baseline of {settings.compare}"
    return (
        "; updating" if settings.update else "; adding what is new" if settings.update_new else ""
    )
