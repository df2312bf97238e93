"""Claims about a rate: the counts that settle them, and the trials they take."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import CountClaim, RateClaim, least_trials, needed_trials, verdict

claims = st.builds(
    RateClaim,
    st.floats(0.02, 0.98),
    st.integers(1, 40),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
    family=st.integers(1, 9),
)


def tail(counts, of, rate):
    p = Fraction(rate)
    return sum(math.comb(of, k) * p**k * (1 - p) ** (of - k) for k in counts)


def test_the_design_s_examples():
    claim = RateClaim(0.5, 32)
    assert (claim.passes_at, claim.fails_at) == (22, 10)
    assert [claim.verdict(hits) for hits in (10, 11, 21, 22)] == [
        "fail",
        "inconclusive",
        "inconclusive",
        "pass",
    ]
    five_sixths = RateClaim(5 / 6, 17)
    assert (five_sixths.passes_at, five_sixths.problem) == (17, "")
    assert RateClaim(5 / 6, 16).passes_at is None
    assert RateClaim(5 / 6, 16).problem == (
        "min_rate=0.833333 cannot pass with 16 trials at alpha=0.05, not even with 16 hits; "
        "it takes 17"
    )


@given(claims)
def test_the_thresholds_are_those_of_the_exact_tests(claim):
    n, rate = claim.trials, claim.min_rate
    passing = [k for k in range(n + 1) if tail(range(k, n + 1), n, rate) <= claim.alpha]
    failing = [k for k in range(n + 1) if tail(range(k + 1), n, rate) <= claim.alpha / claim.family]
    assert claim.passes_at == min(passing, default=None)
    assert claim.fails_at == max(failing, default=None)
    for hits in range(n + 1):
        expected = "pass" if hits in passing else "fail" if hits in failing else "inconclusive"
        assert claim.verdict(hits) == expected


@given(claims, st.floats(0, 1))
def test_no_true_rate_is_judged_wrongly_more_often_than_alpha(claim, true):
    p = {"pass": 0.0, "fail": 0.0, "inconclusive": 0.0}
    for hits in range(claim.trials + 1):
        p[claim.verdict(hits)] += float(tail([hits], claim.trials, true))
    if true < claim.min_rate:
        assert p["pass"] <= claim.alpha + 1e-9
    else:
        assert p["fail"] <= claim.alpha / claim.family + 1e-9


def test_a_tie_with_alpha_settles_it():
    claim = RateClaim(0.5, 5, alpha=1 / 32)
    assert (claim.passes_at, claim.fails_at) == (5, 0)


def test_a_count_that_no_sample_reaches():
    claim = RateClaim(0.05, 10)
    assert claim.fails_at is None
    assert claim.verdict(0) == "inconclusive"


@given(st.floats(0.02, 0.995), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_least_trials_are_enough_and_fewer_are_not(min_rate, alpha):
    least = least_trials(min_rate, alpha=alpha)
    assert not RateClaim(min_rate, least, alpha=alpha).problem
    assert least == 1 or RateClaim(min_rate, least - 1, alpha=alpha).passes_at is None


@pytest.mark.parametrize(
    ("min_rate", "true_rate", "needed"), [(0.5, 0.8, 18), (0.8, 0.95, 30), (0.9, 1.0, 29)]
)
def test_the_needed_trials_are_the_first_with_the_power(min_rate, true_rate, needed):
    def power(n):
        passes_at = RateClaim(min_rate, n).passes_at
        return 0 if passes_at is None else tail(range(passes_at, n + 1), n, true_rate)

    assert needed_trials(min_rate, true_rate=true_rate) == needed
    assert power(needed) >= 0.8
    assert all(power(n) < 0.8 for n in range(1, needed))


def test_rates_too_close_to_tell_apart():
    assert needed_trials(0.5, true_rate=0.505) is None
    with pytest.raises(UsageError, match="is not above min_rate"):
        needed_trials(0.5, true_rate=0.5)


def test_a_count_claim_is_exact():
    claim = CountClaim(5, 6)
    assert [verdict(claim, hits) for hits in (4, 5)] == ["fail", "pass"]
    with pytest.raises(UsageError, match="more than the 6 trials"):
        CountClaim(7, 6)


@pytest.mark.parametrize(
    "arguments",
    [
        {"min_rate": 0.0},
        {"min_rate": 1.0},
        {"min_rate": math.nan},
        {"min_rate": "0.5"},
        {"trials": 0},
        {"trials": 3.0},
        {"alpha": 0},
        {"alpha": math.nan},
        {"family": 0},
    ],
)
def test_a_claim_of_nonsense_is_an_error(arguments):
    with pytest.raises(UsageError):
        RateClaim(**{"min_rate": 0.5, "trials": 32, **arguments})


@pytest.mark.parametrize("hits", [-1, 33, 1.5, math.nan])
def test_hits_that_are_none_are_an_error(hits):
    with pytest.raises(UsageError):
        RateClaim(0.5, 32).verdict(hits)


@pytest.mark.parametrize("power", [0, 1, math.nan])
def test_an_impossible_power_is_an_error(power):
    with pytest.raises(UsageError):
        needed_trials(0.5, true_rate=0.9, power=power)
