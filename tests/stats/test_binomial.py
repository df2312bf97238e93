"""Tails of the binomial distribution, against exact fractions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import p_at_least, p_at_most
from pytest_ctxguard.stats.binomial import p_exactly, significant

RATES = [0.0, 1e-9, 0.1, 1 / 3, 0.5, 5 / 6, 0.9, 1 - 1e-9, 1.0]


def exactly(hits, of, rate):
    p = Fraction(rate)
    return math.comb(of, hits) * p**hits * (1 - p) ** (of - hits)


def close(value, exact):
    return value == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("of", [0, 1, 2, 7, 32])
def test_every_tail_of_a_small_sample(of, rate):
    terms = [exactly(hits, of, rate) for hits in range(of + 1)]
    for hits in range(of + 1):
        assert close(p_exactly(hits, of, rate=rate), terms[hits])
        upper, lower = sum(terms[hits:]), sum(terms[: hits + 1])
        assert p_at_least(hits, of, rate=rate) == pytest.approx(float(upper), rel=1e-9, abs=1e-15)
        assert p_at_most(hits, of, rate=rate) == pytest.approx(float(lower), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("hits", "rate"), [(5083, 0.5), (8066, 0.8), (9036, 0.9), (5500, 0.5)])
def test_a_large_sample_keeps_ten_digits(hits, rate):
    p, q = Fraction(str(rate)).as_integer_ratio()
    total, term = 0, math.comb(10_000, hits) * p**hits * (q - p) ** (10_000 - hits)
    for k in range(hits, 10_001):
        total += term
        term = term * (10_000 - k) * p // ((k + 1) * (q - p))
    exact = Fraction(total, q**10_000)
    assert p_at_least(hits, 10_000, rate=rate) == pytest.approx(float(exact), rel=1e-10)


@given(st.integers(-3, 45), st.integers(0, 40), st.sampled_from(RATES) | st.floats(0, 1))
def test_the_tails_are_each_others_complement_and_mirror(hits, of, rate):
    at_least = p_at_least(hits, of, rate=rate)
    assert 0 <= at_least <= 1
    assert at_least + p_at_most(hits - 1, of, rate=rate) == pytest.approx(1, abs=1e-12)
    assert at_least == pytest.approx(p_at_most(of - hits, of, rate=1 - rate), abs=1e-9)
    assert at_least >= p_at_least(hits + 1, of, rate=rate) - 1e-15


def test_counts_beyond_the_trials():
    assert (p_at_least(0, 5, rate=0.3), p_at_least(6, 5, rate=0.3)) == (1.0, 0.0)
    assert (p_at_most(5, 5, rate=0.3), p_at_most(-1, 5, rate=0.3)) == (1.0, 0.0)
    assert p_exactly(6, 5, rate=0.3) == 0.0


def test_a_tail_that_equals_alpha_reaches_it():
    assert significant(p_at_least(5, 5, rate=0.5), 1 / 32)
    assert not significant(p_at_least(5, 5, rate=0.5), 0.0312)


@pytest.mark.parametrize("tail", [p_at_least, p_at_most])
@pytest.mark.parametrize(
    ("of", "rate"), [(-1, 0.5), (5, math.nan), (5, 1.2), (5, -0.1), (5.0, 0.5)]
)
def test_bad_input_is_an_error(tail, of, rate):
    with pytest.raises(UsageError):
        tail(1, of, rate=rate)
