"""Scripted summarisers: each fails in its own way, and says so."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.summarisers import (
    ERROR_MARK,
    FAULTS,
    FaultySummariser,
    ScriptedSummariser,
)
from pytest_ctxguard.testing import ScriptedSummariser as PublicName
from tests.factories import call, calling, user

SHOWN = [user("one"), calling(call(service="pay"))]


def test_without_texts_it_says_that_it_was_scripted():
    summarise = ScriptedSummariser()
    assert summarise(SHOWN) == "[Scripted summary 1, of 2 messages; no model wrote it.]"
    assert summarise("a text") == "[Scripted summary 2, of a text; no model wrote it.]"
    assert summarise.asked == 2
    assert PublicName is ScriptedSummariser


def test_texts_are_used_in_order_and_the_last_again():
    summarise = ScriptedSummariser(["first", "second"])
    assert [summarise(SHOWN) for _ in range(3)] == ["first", "second", "second"]


@pytest.mark.parametrize(
    ("fault", "error"), [("raises", RuntimeError), ("times-out", TimeoutError)]
)
def test_faults_that_raise(fault, error):
    with pytest.raises(error, match=ERROR_MARK):
        FaultySummariser(fault)(SHOWN)


ANSWERS = {
    "empty": "",
    "calls-a-tool": None,
    "stops-at-length": 'Scripted summary, cut at its limit: one\n\nread_log {"service": "pay"}',
    "echoes": 'one\n\nread_log {"service": "pay"}',
    "longer": 'one\n\nread_log {"service": "pay"}\n'
    + "A scripted summary that is longer than what it replaces. " * 10,
    "repeats": "[Scripted summary 1, of 2 messages; no model wrote it.]",
}


@pytest.mark.parametrize(("fault", "answer"), ANSWERS.items(), ids=ANSWERS)
def test_faults_that_answer(fault, answer):
    assert FaultySummariser(fault)(SHOWN) == answer


def test_every_fault_is_tested_here():
    assert {*ANSWERS, "raises", "times-out"} == set(FAULTS)


def test_it_stops_where_it_is_told_to():
    assert FaultySummariser("stops-at-length")("x" * 900, max_tokens=10) == (
        "Scripted summary, cut at its limit: xxxx"
    )
    assert len(FaultySummariser("stops-at-length")("x" * 900)) == 120


def test_an_old_summary_is_repeated_whatever_it_is_shown():
    summarise = FaultySummariser("repeats")
    assert summarise(SHOWN) == summarise("something else")


def test_an_unknown_fault():
    with pytest.raises(
        UsageError, match="no fault is named 'sleeps'; there are: raises, times-out"
    ):
        FaultySummariser("sleeps")
