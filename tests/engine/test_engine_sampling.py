from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.backend import Sampling
from pytest_ctxguard.engine.sampling import Sampler, nucleus
from pytest_ctxguard.errors import UsageError

LOGITS = np.log(np.array([0.1, 0.4, 0.05, 0.25, 0.2], np.float32))


def draw(count=400, logits=LOGITS, **sampling):
    sampler = Sampler(Sampling(**sampling))
    return [sampler.choose(logits) for _ in range(count)]


def test_temperature_zero_is_argmax_and_the_lowest_id_among_equals():
    assert draw(3, temperature=0, seed=9) == [1, 1, 1]
    assert draw(1, logits=np.array([0, 2, 2], np.float32), temperature=0) == [1]


def test_a_seed_fixes_the_draws():
    assert draw(temperature=1, seed=7) == draw(temperature=1, seed=7)
    assert draw(temperature=1, seed=7) != draw(temperature=1, seed=8)
    assert draw(temperature=1, seed=-1) != draw(temperature=1, seed=1)


def test_draws_follow_the_probabilities():
    counts = np.bincount(draw(20_000, temperature=1), minlength=5) / 20_000
    assert np.abs(counts - np.exp(LOGITS)).max() < 0.015


def test_temperature_sharpens_and_flattens():
    assert set(draw(temperature=0.01)) == {1}
    hot = np.bincount(draw(20_000, temperature=1000.0), minlength=5) / 20_000
    assert np.abs(hot - 0.2).max() < 0.015


def test_top_p_keeps_the_likeliest():
    assert set(draw(temperature=1, top_p=0.6)) == {1, 3}
    assert set(draw(temperature=1, top_p=0.0)) == {1}
    assert set(draw(temperature=1, top_p=1.0)) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "sampling",
    [{"temperature": -1}, {"temperature": float("nan")}, {"temperature": float("inf")}]
    + [{"temperature": 1, "top_p": p} for p in (-0.1, 1.1, float("nan"))],
)
def test_an_impossible_setting_is_said(sampling):
    with pytest.raises(UsageError, match=list(sampling)[-1]):
        Sampler(Sampling(**sampling))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40), st.floats(0, 0.999))
def test_the_nucleus_is_the_smallest_that_suffices(weights, top_p):
    probabilities = np.array(weights, float) + 1e-9
    probabilities /= probabilities.sum()
    ids, kept = nucleus(probabilities, top_p=top_p)
    order = np.lexsort((np.arange(len(weights)), -probabilities))
    assert list(ids) == list(order[: len(ids)])
    assert kept.sum() >= top_p - 1e-9
    assert len(ids) == 1 or kept[:-1].sum() < top_p + 1e-9
