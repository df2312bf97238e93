"""``ctx_token_cost``."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.token_cost import NAME, TokenCost
from tests.factories import case_of, replay_of, session, tool


def judge(billed, *, old, max_increase=0.0, **changes):
    """Judge a replay of two calls against a baseline of the same instrument."""
    replay = replay_of(billed // 2, billed - billed // 2)
    first = TokenCost().judge(case_of(replay, recorded=dict))
    recorded = {NAME: Metric(old, first.metrics[NAME].fingerprint)}
    case = case_of(replay, recorded=lambda: recorded, **changes)
    return TokenCost(max_increase).judge(case)


def test_what_is_measured_and_what_it_depends_on():
    judgement = TokenCost().judge(case_of(replay_of(4000, 6000)))
    assert judgement.promise == "token_cost"
    assert judgement.summary == "10,000 input tokens billed over 2 calls"
    assert (judgement.verdict, judgement.state) == ("pass", "new")
    metric = judgement.metrics[NAME]
    assert (metric.value, metric.of, metric.trials) == (10_000, None, None)
    assert set(metric.fingerprint) == {"transcript", "counter"}
    assert metric.fingerprint["counter"] == "letters"


def test_the_fingerprint_follows_the_transcript_and_never_the_budget():
    def fingerprint(replay):
        return TokenCost().judge(case_of(replay)).metrics[NAME].fingerprint

    replay = replay_of(10)
    assert fingerprint(dataclasses.replace(replay, budget=3, policy="other")) == fingerprint(replay)
    more = session(facts=(), tools=(tool(), tool("now")))
    assert fingerprint(dataclasses.replace(replay, transcript=more)) != fingerprint(replay)


STATES = [(10_000, "unchanged", ""), (9_000, "improved", ", -10.0% against 10,000")]


@pytest.mark.parametrize(("billed", "state", "against"), STATES)
def test_as_dear_as_before_or_cheaper(billed, state, against):
    judgement = judge(billed, old=10_000)
    assert (judgement.verdict, judgement.state) == ("pass", state)
    assert judgement.summary == f"{billed:,} input tokens billed over 2 calls{against}"


def test_dearer_within_the_tolerance():
    judgement = judge(10_200, old=10_000, max_increase=0.02)
    assert (judgement.verdict, judgement.state) == ("pass", "regressed")
    assert judgement.summary.endswith(", +2.0% against 10,000")


def test_dearer_than_the_tolerance():
    judgement = judge(10_201, old=10_000, max_increase=0.02, accept="pytest --ctxguard-update")
    assert (judgement.verdict, judgement.state) == ("fail", "regressed")
    assert judgement.findings == (
        Finding(
            rule="ctx_token_cost.dearer",
            what="the session costs 2.0% more input tokens",
            where="transcript small, policy cut, 2 calls",
            measured="10,201 input tokens billed",
            allowed="10,000 in the baseline, and 2.0% more",
            why="every call pays for its whole request",
            remedy="send less, or accept: pytest --ctxguard-update",
        ),
    )


@pytest.mark.parametrize(
    ("old", "max_increase", "most"),
    [(50, 0.14, 57), (100, 0.02, 102), (1000, 0.1, 1100), (3, 0.3, 3), (7, 0, 7), (10, 1.5, 25)],
)
def test_the_tolerance_is_exact(old, max_increase, most):
    assert judge(most, old=old, max_increase=max_increase).verdict == "pass"
    assert judge(most + 1, old=old, max_increase=max_increase).verdict == "fail"


@given(st.integers(2, 10**7), st.integers(0, 200), st.integers(2, 10**7))
def test_in_whole_percents_it_is_integer_arithmetic(old, percent, billed):
    judgement = judge(billed, old=old, max_increase=percent / 100)
    assert judgement.verdict == ("fail" if billed * 100 > old * (100 + percent) else "pass")


def test_a_missing_entry_fails_where_one_is_required():
    case = case_of(replay_of(10), require_recorded=True)
    judgement = TokenCost().judge(case)
    assert (judgement.verdict, judgement.state) == ("fail", "new")
    assert judgement.findings[0].rule == "ctx_token_cost.new"


def test_another_counter_is_incomparable():
    recorded = {NAME: Metric(10, {"transcript": "x", "counter": "words"})}
    judgement = TokenCost().judge(case_of(replay_of(10), recorded=lambda: recorded))
    assert (judgement.verdict, judgement.state) == ("fail", "incomparable")
    assert judgement.summary == "10 input tokens billed over 1 calls"
    assert judgement.metrics[NAME].value == 10
