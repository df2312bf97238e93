"""A test that is expected to fail: a broken promise is excused, an unjudged one is not."""

from __future__ import annotations

import pytest

from pytest_ctxguard.errors import (
    ContextGateFailure,
    CtxguardError,
    NothingChecked,
    PolicyError,
)


def hold_xfail(item: pytest.Item, report: pytest.TestReport, error: BaseException) -> None:
    """Make a failure of an expected one where what the test promises could not be judged.

    The mark ``xfail`` says that a promise is broken. A misspelt fact or a missing model breaks
    none, and would hide for ever that nothing is checked. ``xfail(raises=…)`` expects an error by
    its name; that nothing was checked cannot be expected.
    """
    if not hasattr(report, "wasxfail") or not report.skipped or not _unjudged(error):
        return
    named = any(mark.kwargs.get("raises") for mark in item.iter_markers("xfail"))
    if named and not isinstance(error, NothingChecked):
        return
    del report.wasxfail
    report.outcome = "failed"


def _unjudged(error: BaseException) -> bool:
    if isinstance(error, NothingChecked):
        return True
    broken = isinstance(error, ContextGateFailure | PolicyError)
    return isinstance(error, CtxguardError) and not broken
