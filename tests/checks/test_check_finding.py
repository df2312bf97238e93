"""Findings and verdicts."""

import pytest

from pytest_ctxguard.checks.finding import Finding, Judgement, render
from pytest_ctxguard.checks.guarded import enforce
from pytest_ctxguard.errors import ContextGateFailure, CtxguardError


def finding(what="too much", **changes):
    fields = {
        "rule": "ctx_budget.over",
        "what": what,
        "where": "call 3",
        "measured": "12",
        "allowed": "10",
        "why": "it is dear",
        "remedy": "send less",
    }
    return Finding(**{**fields, **changes})


BAD = Judgement("budget", "12 of 10", (finding(),))
UNSURE = Judgement("answered(a)", "4 of 5", (finding("lost one", inconclusive=True),))
GOOD = Judgement("wellformed(openai)", "all accepted")


def test_verdicts():
    assert GOOD.verdict == "pass"
    assert BAD.verdict == "fail"
    assert UNSURE.verdict == "inconclusive"
    assert Judgement("x", "", (*UNSURE.findings, *BAD.findings)).verdict == "fail"


def test_a_finding_is_written_in_five_parts():
    assert render([finding()]) == (
        "[ctx_budget.over] too much\n"
        "  where     call 3\n"
        "  measured  12\n"
        "  allowed   10\n"
        "  why       it is dear\n"
        "  remedy    send less"
    )


def test_empty_parts_are_left_out_and_findings_stand_apart():
    text = render([finding("one", why="", remedy=""), finding("two", where="")])
    first, second = text.split("\n\n")
    assert first == ("[ctx_budget.over] one\n  where     call 3\n  measured  12\n  allowed   10")
    assert second.splitlines()[:2] == ["[ctx_budget.over] two", "  measured  12"]


def test_kept_promises_raise_nothing():
    enforce(())
    enforce((GOOD, GOOD))


def test_a_broken_promise_is_one_failure_with_every_finding():
    with pytest.raises(ContextGateFailure) as caught:
        enforce((GOOD, BAD, UNSURE))
    assert str(caught.value) == (
        "budget, answered(a): too much (and 1 more)\n\n" + render([*BAD.findings, *UNSURE.findings])
    )
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, CtxguardError)
    assert f"{type(caught.value).__module__}.{type(caught.value).__qualname__}" == (
        "pytest_ctxguard.ContextGateFailure"
    )


def test_inconclusive_fails_unless_it_is_tolerated():
    with pytest.raises(ContextGateFailure, match=r"^answered\(a\): lost one\n"):
        enforce((UNSURE,))
    enforce((UNSURE, GOOD), tolerate_inconclusive=True)
    with pytest.raises(ContextGateFailure, match=r"^budget: too much\n"):
        enforce((UNSURE, BAD), tolerate_inconclusive=True)
