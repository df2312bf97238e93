"""What a test came to, as the value that leaves its process on the test report."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_ctxguard.baseline import baseline_path
from pytest_ctxguard.errors import ContextGateFailure
from pytest_ctxguard.plugin.fixtures.replaying import test_key
from pytest_ctxguard.plugin.names import node_id
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.repeating import rerun
from pytest_ctxguard.report.printable import printable_lines
from pytest_ctxguard.report.run import WORST_FIRST, Outcome, TestResult, TestVerdict

PAYLOAD = "ctxguard_payload"
"""Attribute of a test report: what the test came to, as JSON."""
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")  # of an object: another one in each process


def test_result(
    item: pytest.Item,
    report: pytest.TestReport,
    excinfo: pytest.ExceptionInfo[BaseException] | None,
    *,
    record: TestRecord,
    by_call: bool,
) -> TestResult:
    """Return what one test came to.

    Args:
        item: the test.
        report: of its call, or of its setup where that did not pass.
        excinfo: what it raised.
        record: what it promised and did.
        by_call: whether the figures of a replay have each call.
    """
    subjects = tuple(record.subjects(by_call=by_call))
    judged = [judgement.verdict for subject in subjects for judgement in subject.judgements]
    verdict: TestVerdict = min(judged, key=WORST_FIRST.index, default="pass")
    message = details = ""
    if report.skipped:
        verdict = "skipped"
    elif report.failed and excinfo is None:  # it passes, and xfail(strict=True) says that it fails
        verdict, message = "fail", printable_lines(report.longreprtext).partition("\n")[0]
    elif report.failed and excinfo is not None:
        verdict = _failed(excinfo.value, when=report.when)
        message = ADDRESS.sub("0x…", printable_lines(excinfo.exconly()).partition("\n")[0])
        if isinstance(excinfo.value, ContextGateFailure):
            message = printable_lines(str(excinfo.value)).partition("\n")[0]
            details = printable_lines(str(excinfo.value))
    return replace(
        lost_result(item),
        outcome=_outcome(report, excinfo),
        verdict=verdict,
        message=message,
        details=details,
        note=record.note,
        finished=record.finished,
        unchecked=record.unchecked,
        subjects=subjects,
    )


def lost_result(item: pytest.Item) -> TestResult:
    """Return what a test came to whose worker ends in the middle of it."""
    file, line, _ = item.location
    nodeid, root = node_id(item), item.config.rootpath
    return TestResult(
        nodeid=nodeid,
        file=Path(file).as_posix(),
        line=(line or 0) + 1,
        baseline=Path(os.path.relpath(baseline_path(item.path), root)).as_posix(),
        key=test_key(item),
        outcome="lost",
        verdict="error",
        message="lost: the worker that ran it ended in the middle of it, so nothing was judged",
        note="its code called os._exit or crashed the interpreter, or the system ended the "
        "process, for want of memory for instance; run it alone to see which",
        rerun=rerun(item),
    )


def _outcome(
    report: pytest.TestReport, excinfo: pytest.ExceptionInfo[BaseException] | None
) -> Outcome:
    """Return pytest's outcome; what ``pytest.xfail()`` ends has not failed, and is skipped.

    So it is under ``xfail(run=False)``, whose body never runs.
    """
    if not hasattr(report, "wasxfail"):
        return report.outcome
    if report.passed:
        return "xpassed"
    ended = excinfo is not None and isinstance(excinfo.value, pytest.xfail.Exception)
    return "skipped" if ended else "xfailed"


def _failed(error: BaseException, *, when: str | None) -> TestVerdict:
    """Tell a broken promise, or assertion, from what could not be judged."""
    if isinstance(error, ContextGateFailure):
        return error.verdict
    broken = isinstance(error, AssertionError | pytest.fail.Exception)
    return "fail" if broken and when == "call" else "error"
