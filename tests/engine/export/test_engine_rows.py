from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.engine.export.rows import (
    BLOCK,
    LEVELS,
    balance,
    quantize_rows,
    split_channels,
)


def matrix(rows: int = 9, columns: int = 40, *, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def test_every_weight_is_within_half_a_level():
    wanted = matrix()
    rows = quantize_rows(wanted)
    assert rows.levels.shape == (40, 9)
    assert np.abs(rows.levels).max() == LEVELS
    assert (np.abs(rows.floats() - wanted) <= rows.scales[:, None] * 0.5001).all()


def test_a_row_of_zeros_stays_zero():
    wanted = matrix()
    wanted[3] = 0
    assert not quantize_rows(wanted).floats()[3].any()


def test_the_copies_of_a_channel_share_what_its_sum_rounds_to():
    wanted = matrix()
    largest = np.ones(40, np.float32)
    largest[[4, 17]] = 9.5, 3.5
    split = split_channels(largest, extra=10)
    assert split.copies[4] + split.copies[17] == 12
    rows = quantize_rows(wanted, split)
    assert rows.levels.shape == (50, 9)
    error = np.abs(rows.floats(split) - wanted) / rows.scales[:, None]
    # n copies round to the nearest n-th of a level
    assert (error <= 0.5001 / split.copies).all()


def test_a_split_product_is_the_product():
    wanted, x = matrix(), matrix(1, 40, seed=1)[0]
    split = split_channels(np.abs(x), extra=12)
    rows = quantize_rows(wanted, split)
    shared = x * split.share
    wide = np.concatenate([shared, shared[split.extra]])
    found = (rows.levels.T * rows.scales[:, None]) @ wide
    np.testing.assert_allclose(found, rows.floats(split) @ x, rtol=1e-5, atol=1e-5)
    assert np.abs(wide).max() < np.abs(x).max() / 1.9


@given(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=12), st.integers(0, 20))
def test_no_other_spending_makes_the_largest_share_smaller(largest, extra):
    split = split_channels(np.array(largest, np.float32), extra=extra)
    assert split.copies.sum() == len(largest) + extra
    assert len(split.extra) == extra
    top = (np.array(largest) * split.share).max()
    # with every share below the top one, more columns would have been needed
    if top > 0:
        needed = sum(max(1, np.ceil(each / (top * 0.999))) for each in largest)
        assert needed > len(largest) + extra or np.isclose(top, 0)


@pytest.mark.parametrize("count", [BLOCK - 1, BLOCK + 5])
def test_rows_are_rounded_alike_in_any_block(count):
    wanted = matrix(count, 3)
    levels = quantize_rows(wanted).levels
    np.testing.assert_array_equal(levels[:, -4:], quantize_rows(wanted[-4:]).levels)


def test_balanced_columns_lose_less_where_large_weights_meet_small_inputs():
    draw = np.random.default_rng(2)
    wanted = matrix(64, 40)
    wanted[:, :4] *= 30
    x = draw.standard_normal((200, 40)).astype(np.float32)
    x[:, :4] /= 30
    factors = balance(wanted, (x * x).mean(axis=0))
    assert factors[:4].min() > 2 * factors[4:].max()
    exact = x @ wanted.T
    plain = x @ quantize_rows(wanted).floats().T
    balanced = (x * factors) @ quantize_rows(wanted / factors).floats().T
    assert np.square(balanced - exact).mean() < np.square(plain - exact).mean() / 4


def test_nothing_is_balanced_where_it_would_not_help():
    wanted = matrix(64, 40)
    energy = np.abs(wanted).max(axis=0) ** 8  # large weights meet much larger inputs
    np.testing.assert_allclose(balance(wanted, energy), 1)
