"""Intervals of a rate."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import Interval, wilson

counts = st.integers(1, 300).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_published_examples(hits, of, low, high):
    interval = wilson(hits, of)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(counts)
def test_the_ends_solve_the_score_equation(count):
    hits, of = count
    interval = wilson(hits, of)
    for rate in {interval.low, interval.high} - {0.0, 1.0}:
        z = (hits / of - rate) / math.sqrt(rate * (1 - rate) / of)
        assert abs(z) == pytest.approx(1.959964, abs=1e-5)


@given(counts)
def test_the_interval_holds_the_rate_and_is_mirrored_by_misses(count):
    hits, of = count
    interval, mirrored = wilson(hits, of), wilson(of - hits, of)
    assert 0 <= interval.low <= hits / of <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)


@given(counts, st.floats(0.5, 0.98))
def test_more_confidence_is_wider(count, confidence):
    narrow, wide = wilson(*count, confidence=confidence), wilson(*count, confidence=0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_an_interval_reads_as_text():
    assert str(Interval(0.0624, 0.16049)) == "0.062 to 0.160"


@pytest.mark.parametrize(
    ("hits", "of", "confidence"),
    [
        (0, 0, 0.95),
        (3, 2, 0.95),
        (-1, 5, 0.95),
        (1.0, 5, 0.95),
        (True, 5, 0.95),
        (1, math.nan, 0.95),
        (1, 5, 1.0),
        (1, 5, 0),
        (1, 5, math.nan),
        (1, 5, "0.95"),
    ],
)
def test_bad_input_is_an_error(hits, of, confidence):
    with pytest.raises(UsageError):
        wilson(hits, of, confidence=confidence)
