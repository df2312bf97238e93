"""With ``--ctxguard``: guarded tests are judged after their body, in the process that runs them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.checks.needle_recall import NeedleRecall
from pytest_ctxguard.checks.promise import Promise, describe
from pytest_ctxguard.errors import ContextGateFailure, CtxguardError, UsageError
from pytest_ctxguard.plugin.controller.collected import Collecting
from pytest_ctxguard.plugin.controller.controlling import Controlling
from pytest_ctxguard.plugin.controller.publishing import Publishing
from pytest_ctxguard.plugin.fixtures.cassettes import CASSETTES, claims, needs_fixture
from pytest_ctxguard.plugin.fixtures.estimating import read_bounds
from pytest_ctxguard.plugin.fixtures.lawful import check_marks, hold_marked
from pytest_ctxguard.plugin.fixtures.recording import noted, recorded
from pytest_ctxguard.plugin.fixtures.replaying import RECORD, SERVICES
from pytest_ctxguard.plugin.judging import judge_record, judge_skipped
from pytest_ctxguard.plugin.names import is_guarded
from pytest_ctxguard.plugin.promises import read_promises, refuse_misspelt, transcript_patterns
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.repeating import TITLE, seen_again
from pytest_ctxguard.plugin.results import PAYLOAD, test_result
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.plugin.settings.options import is_worker
from pytest_ctxguard.plugin.settings.settings import read_settings
from pytest_ctxguard.plugin.xdist.workers import Workers
from pytest_ctxguard.plugin.xfailing import hold_xfail
from pytest_ctxguard.recording.cassette import Missed
from pytest_ctxguard.report.json_file import dumps
from pytest_ctxguard.report.printable import encodable, printable_lines
from pytest_ctxguard.transcript.library import matching

PACKAGE = Path(__file__).parent.parent


class Guarding:
    """The part of the plugin that runs under ``--ctxguard``."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = read_settings(config)
        config.stash[SERVICES] = Services(config, self.settings)
        workers = Workers(config, config.stash[SERVICES])
        config.pluginmanager.register(workers, "ctxguard-workers")
        collecting = Collecting(config)
        config.pluginmanager.register(collecting, "ctxguard-collecting")
        if not is_worker(config):
            publishing = Publishing(config, self.settings)
            config.pluginmanager.register(publishing, "ctxguard-publishing")
            controlling = Controlling(
                config, self.settings, workers, collecting=collecting, publishing=publishing
            )
            config.pluginmanager.register(controlling, "ctxguard-controlling")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise ``ctx_transcript`` with the transcripts a test names."""
        if "ctx_transcript" not in metafunc.fixturenames:
            return
        try:
            patterns = transcript_patterns(metafunc.definition)
            names = matching(patterns, folders=self.settings.transcripts)
        except UsageError:
            return  # said at setup, as this test's own error
        if names:
            metafunc.parametrize("ctx_transcript", names, indirect=True, ids=names)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note which tests share a cassette, also those that will be deselected."""
        self.config.stash[CASSETTES] = claims(items, self.settings)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Read what a test promises; a bad mark is its own setup error."""
        promises, problem = self._read(item)
        if problem:
            item.stash[RECORD] = TestRecord(())
            pytest.fail(problem, pytrace=False)
        if not is_guarded(item):
            return
        structure = self.settings.tier == "structure"
        left_out = [p for p in promises if structure and p.tier == "model"]
        kept = [p for p in promises if p not in left_out]
        record = TestRecord(
            tuple(p for p in kept if not isinstance(p, NeedleRecall)),
            claims=tuple(p for p in kept if isinstance(p, NeedleRecall)),
            bounds=read_bounds(item),
            unchecked=tuple(map(describe, left_out)),
        )
        item.stash[RECORD] = record
        if left_out and not kept and not record.bounds:
            record.note = "not checked in this tier"
            pytest.skip("ctxguard: every mark of this test needs a model (structure tier)")

    def _read(self, item: pytest.Item) -> tuple[tuple[Promise | NeedleRecall, ...], str]:
        """Return a test's promises, or what is wrong with its marks."""
        try:
            refuse_misspelt(item)
            if not is_guarded(item):
                return (), ""
            matching(transcript_patterns(item), folders=self.settings.transcripts)
            needs_fixture(item)
            check_marks(item)
            read_bounds(item)
            return read_promises(item), ""
        except UsageError as error:
            return (), str(error)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Judge a test's replays once its body has passed."""
        record = item.stash.get(RECORD, None)
        if record is None:
            return (yield)
        try:
            with recorded(item) as recording:
                result = yield
                _raise_caught(item)
            hold_marked(item)
        except BaseException as error:
            if isinstance(error, pytest.skip.Exception):
                judge_skipped(record, tolerate_inconclusive=self.settings.tolerate_inconclusive)
            if isinstance(error, ContextGateFailure) and record.checked:
                record.note = "the body ended at a broken check; its marks were not judged"
                raise
            if not record.agents:  # an agent is judged where it is run
                record.note = "the body did not pass, so nothing was judged"
            record.clear()
            raise
        record.finished = True
        judge_record(
            record,
            recorded=recording,
            tolerate_inconclusive=self.settings.tolerate_inconclusive,
        )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the findings in place of a traceback, and the payload on the report."""
        report = yield
        record = item.stash.get(RECORD, None)
        if call.excinfo is not None and record is not None:
            hold_xfail(item, report, call.excinfo.value)
        if call.excinfo is not None and report.failed and record is not None:
            report.longrepr = _plain(call.excinfo, item) or report.longrepr
        if is_guarded(item):
            _escape(report)
        if record is None:
            return report
        if report.when == "call" or (report.when == "setup" and not report.passed):
            if report.when == "setup" and not record.note:
                record.note = "the body did not run, so nothing was judged"
            record.note = noted(item, record.note)
            shown = self.settings.reports
            result = test_result(item, report, call.excinfo, record=record, by_call=bool(shown))
            setattr(report, PAYLOAD, dumps(result))
            if report.failed:
                services = self.config.stash[SERVICES]
                told = seen_again(item, record, services=services, command=result.rerun)
                report.sections.append((TITLE, told))
        return report


def _raise_caught(item: pytest.Item) -> None:
    """Raise what the body of a unittest case raised; pytest keeps it aside until it reports."""
    caught = getattr(item, "_excinfo", None)  # no public name has it
    if caught:
        raise caught[0].value


def _plain(excinfo: pytest.ExceptionInfo[BaseException], item: pytest.Item) -> Any:
    """Return a failure's text without this package's frames; None when pytest's own will do.

    A gate failure is its findings alone; an error keeps the frames of the test, since the line
    that made the call is where the mistake is; what a policy raises keeps its frames, too.
    """
    value, entries = excinfo.value, excinfo.traceback
    on_purpose = isinstance(value, CtxguardError)
    in_test = [i for i, entry in enumerate(entries) if Path(entry.path) == item.path]
    if isinstance(value, ContextGateFailure | Missed) or (on_purpose and not in_test):
        return excinfo.getrepr(style="value")
    if isinstance(value, pytest.fail.Exception) and not value.pytrace:
        return None  # pytest prints its message alone
    since = entries[in_test[0] :] if in_test else entries
    theirs = since.filter(_is_theirs)
    if not on_purpose and (len(theirs) == len(since) or not _is_theirs(since[-1])):
        return None  # this package has no part in it, or all of it
    excinfo.traceback = theirs
    style = item.config.getoption("tbstyle")
    return excinfo.getrepr(style="long" if style == "auto" else style)


def _is_theirs(entry: Any) -> bool:
    return PACKAGE not in Path(entry.path).parents


def _escape(report: pytest.TestReport) -> None:
    """Escape lone surrogates in a report's texts; xdist cannot send them and loses the worker.

    In the failure's text all that a terminal would obey is escaped, too: much of it is recorded.
    """
    report.sections = [(name, encodable(text)) for name, text in report.sections]
    if report.longrepr and not isinstance(report.longrepr, tuple):
        text = report.longreprtext
        if text != printable_lines(text):
            report.longrepr = printable_lines(text)
