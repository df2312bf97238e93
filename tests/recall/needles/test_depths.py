"""Depths and their spacing."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.depths import given_depths, record_at, spaced


def test_linear_depths_are_equally_far_apart():
    assert spaced(9) == (0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1)


def test_sigmoid_depths_are_the_logistic_curve_with_its_ends_put_at_0_and_1():
    assert spaced(5, spacing="sigmoid") == (0, 0.0759, 0.5, 0.9241, 1)
    assert spaced(5, spacing="sigmoid")[1] == round(1 / (1 + math.exp(2.5)), 4)


def test_one_depth_is_the_middle():
    assert spaced(1) == spaced(1, spacing="sigmoid") == (0.5,)


@given(st.integers(min_value=2, max_value=40), st.sampled_from(["linear", "sigmoid"]))
def test_they_rise_from_0_to_1_and_are_symmetric(n, spacing):
    depths = spaced(n, spacing=spacing)
    assert len(depths) == n
    assert depths[0] == 0
    assert depths[-1] == 1
    assert list(depths) == sorted(depths)
    assert all(abs(a + b - 1) < 1e-3 for a, b in zip(depths, reversed(depths), strict=True))


@pytest.mark.parametrize(
    ("depths", "wanted"),
    [(3, (0, 0.5, 1)), (0.25, (0.25,)), ([0, 1], (0, 1)), ((0.5,), (0.5,))],
)
def test_what_a_test_may_give(depths, wanted):
    assert given_depths(depths) == wanted


@pytest.mark.parametrize(
    ("depths", "problem"),
    [
        (0, "a number of depths is 1 or more"),
        (-1, "a number of depths is 1 or more"),
        ((), "give one or more depths, each once"),
        ([0.5, 0.5], "give one or more depths, each once"),
        ([0, 1.1], "depth 1.1: a depth is a number from 0"),
        ([-0.1], "depth -0.1: a depth is a number from 0"),
        ([True], "depth True"),
        (True, "depth True"),
        ("0.5", "depth '0.5'"),
        ([float("nan")], "depth nan"),
    ],
)
def test_what_is_no_depth(depths, problem):
    with pytest.raises(UsageError, match=problem):
        given_depths(depths)


def test_a_spacing_is_of_a_number_of_depths():
    with pytest.raises(UsageError, match="spaces a number of depths"):
        given_depths([0, 0.5], spacing="sigmoid")
    with pytest.raises(UsageError, match="neither 'linear' nor 'sigmoid'"):
        given_depths(3, spacing="cubic")


@given(st.floats(min_value=0, max_value=1), st.integers(min_value=1, max_value=5000))
def test_the_record_at_a_depth_is_the_nearest(depth, records):
    place = record_at(depth, records)
    assert 0 <= place < records
    assert abs(place - depth * (records - 1)) <= 0.5 + 1e-6


@given(st.integers(min_value=1, max_value=5000))
def test_depth_one_half_is_the_middle_at_every_length(records):
    assert record_at(0.5, records) == (records - 1) // 2
