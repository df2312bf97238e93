"""``ctx_token_cost``."""

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.token_cost import NAME, TokenCost
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.cost import Prices
from tests.factories import (
    ApproximateLetters,
    assistant,
    case_of,
    replay_of,
    replayed,
    session,
    tool,
    user,
)


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


def test_an_approximate_counter_is_named():
    replay = dataclasses.replace(replay_of(4000, 6000), counter=ApproximateLetters())
    judgement = TokenCost().judge(case_of(replay))
    assert judgement.summary.endswith("; approximate, by letters")


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
    judgement = judge(10_201, old=10_000, max_increase=0.02, accept="pytest-ctxguard accept")
    assert (judgement.verdict, judgement.state) == ("fail", "regressed")
    assert judgement.findings == (
        Finding(
            rule="ctx_token_cost.dearer",
            what="the session costs 2.0% more input tokens",
            where="transcript small, policy cut, 2 calls",
            measured="10,201 input tokens billed",
            allowed="10,000 in the baseline, and 2.0% more",
            why="every call pays for its whole request",
            remedy="send less, or accept: pytest-ctxguard accept",
            baseline=True,
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


def weighted(promise, replay, **changes):
    """Judge a replay against a baseline of what the same promise measured, or of ``old``."""
    old = changes.pop("old", None)
    first = promise.judge(case_of(replay, recorded=dict, **changes))
    metric = first.metrics[promise.metric]
    recorded = {promise.metric: Metric(metric.value if old is None else old, metric.fingerprint)}
    return promise.judge(case_of(replay, recorded=lambda: recorded, **changes))


def test_the_weighted_cost_is_another_metric_with_the_raw_tokens_beside():
    judgement = weighted(TokenCost(provider="vllm", pace=10), replayed(list))
    assert (judgement.promise, judgement.state) == ("token_cost(vllm)", "unchanged")
    [(name, metric)] = judgement.metrics.items()
    assert name == "weighted_input_tokens:vllm"
    assert set(metric.fingerprint) == {"transcript", "counter", "rules", "times"}
    raw = replayed(list).tokens.billed
    assert metric.value < raw
    assert judgement.summary.endswith(f"{raw:,} input tokens billed over 4 calls")
    assert "rules of 2026-11-30; a call every 10 s" in judgement.summary


def test_a_policy_that_sends_less_and_costs_more_is_found():
    long = session(facts=(), messages=LONG)
    full, window = replayed(list, long), replayed(lambda messages: messages[-3:], long)
    assert window.tokens.billed < full.tokens.billed
    promise = TokenCost(provider="sglang")
    old = promise.judge(case_of(full)).metrics[promise.metric].value
    judgement = weighted(promise, window, old=old)
    assert judgement.counts == {"dearer": 1}
    [finding] = judgement.findings
    assert finding.what.endswith("more input tokens, weighted")
    assert "tokens not read at call " in finding.where
    assert "dropped" in finding.where


LONG = tuple(
    message
    for n in range(12)
    for message in (user("q" * 50 + str(n)), assistant("a" * 50 + str(n)))
)


def test_another_pace_is_incomparable():
    replay = replayed(list)
    promise = TokenCost(provider="anthropic", pace=10)
    slower = TokenCost(provider="anthropic", pace=400)
    old = promise.judge(case_of(replay)).metrics
    assert slower.judge(case_of(replay, recorded=lambda: old)).state == "incomparable"


def test_a_total_needs_no_baseline():
    replay = replay_of(4000, 6000)
    case = case_of(replay, require_recorded=True)
    kept = TokenCost(max_total=10_000).judge(case)
    assert (kept.verdict, kept.metrics, kept.state) == ("pass", {}, "")
    [finding] = TokenCost(max_total=9_999).judge(case).findings
    assert finding.rule == "ctx_token_cost.over"
    assert finding.what == "the session costs 1 tokens too many"
    assert (finding.measured, finding.allowed) == ("10,000 input tokens billed", "9,999")


def test_a_total_and_a_baseline_are_both_judged_if_both_are_asked_for():
    found = TokenCost(max_total=5, max_increase=0.0).judge(
        case_of(replay_of(10), require_recorded=True)
    )
    assert found.counts == {"over": 1, "new": 1}


def test_a_total_of_weighted_tokens():
    cost = replayed(list).cost("vllm").weighted
    assert TokenCost(provider="vllm", max_total=int(cost)).judge(
        case_of(replayed(list))
    ).verdict == ("pass")
    over = TokenCost(provider="vllm", max_total=int(cost) - 1).judge(case_of(replayed(list)))
    assert over.counts == {"over": 1}


def test_money_is_shown_where_prices_are_known():
    prices = {"vllm": Prices(input=Decimal(1_000_000), output=Decimal(0), currency="EUR")}
    judgement = TokenCost(provider="vllm").judge(case_of(replayed(list), prices=lambda: prices))
    cost = replayed(list).cost("vllm").weighted
    assert f"; {cost:,.4f} EUR with the answers; " in judgement.summary


REFUSED = [
    ({"provider": None}, "provider=None is not a name"),
    ({"max_total": 0}, "max_total=0 is not a number of tokens"),
    ({"pace": 3}, "pace=3 is not a number of seconds of 0 or more, or there is no provider="),
    ({"pace": -1, "provider": "vllm"}, "pace=-1 is not a number of seconds"),
]


@pytest.mark.parametrize(("arguments", "says"), REFUSED)
def test_impossible_arguments(arguments, says):
    with pytest.raises(UsageError, match=says):
        TokenCost(**arguments)


def test_unknown_rules_are_named_when_judged():
    with pytest.raises(UsageError, match="no cache rules for 'nobody'; there are: anthropic"):
        TokenCost(provider="nobody").judge(case_of(replay_of(10)))


def test_a_token_more_or_fewer_is_a_difference():
    states = [judge(value, old=10_000, max_increase=1).state for value in (9_999, 10_000, 10_001)]
    assert states == ["improved", "unchanged", "regressed"]


def test_while_the_baseline_is_rewritten_a_dearer_session_is_said_and_fails_nothing():
    judgement = judge(20_000, old=10_000, updating=True)
    assert (judgement.verdict, judgement.state) == ("pass", "regressed")
    case = case_of(replay_of(20_000), updating=True)
    over = TokenCost(max_increase=0.0, max_total=15_000).judge(case)
    assert [finding.rule for finding in over.findings] == ["ctx_token_cost.over"]
