"""The effective length."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import LengthCell, effective_length


def cells(*hits, of=20):
    return [LengthCell(1000 * 2**n, count, of) for n, count in enumerate(hits)]


def test_the_last_length_before_the_first_drop():
    found = effective_length(cells(20, 18, 17, 16, 20))
    assert found.length == 4000  # 17 of 20 is 0.85; the lucky last cell does not stretch it
    assert str(found) == (
        "4,000 (17 of 20), then 8,000 (16 of 20); base 1,000 (20 of 20), share 0.85"
    )


def test_where_nothing_drops_the_length_is_a_lower_bound():
    found = effective_length(cells(20, 19))
    assert (found.length, found.drop) == (2000, None)
    assert str(found) == "at least 2,000 (19 of 20); base 1,000 (20 of 20), share 0.85"


def test_not_even_the_shortest_holds_to_another_base():
    found = effective_length(cells(10, 10), base=LengthCell(200, 20, 20))
    assert found.length is None
    assert str(found) == "none, then 1,000 (10 of 20); base 200 (20 of 20), share 0.85"


def test_the_share_is_of_the_base_not_of_all_trials():
    assert effective_length(cells(10, 9, 8)).length == 2000


def test_a_base_without_a_hit_has_no_share_to_hold():
    found = effective_length(cells(0, 5))
    assert (found.length, found.drop) == (None, LengthCell(1000, 0, 20))


@pytest.mark.parametrize("of", [7, 20, 100])
def test_a_share_that_is_met_exactly_holds(of):
    for hits in range(1, of + 1):
        pair = [LengthCell(1, of, of), LengthCell(2, hits, of)]
        assert effective_length(pair, share=hits / of).length == 2


@given(st.lists(st.integers(0, 20), max_size=6), st.floats(0.1, 1))
def test_longer_cells_never_shorten_it_and_order_does_not_matter(hits, share):
    found = effective_length(cells(20, *hits), share=share)
    assert effective_length(cells(20, *hits)[::-1], share=share) == found
    shorter = effective_length(cells(20, *hits[:-1]), share=share)
    assert found.length >= shorter.length


@pytest.mark.parametrize(
    ("given_cells", "share"),
    [
        ([], 0.85),
        (cells(20), 0),
        (cells(20), 1.5),
        (cells(20), math.nan),
        ([*cells(20), *cells(19)], 0.85),
    ],
)
def test_what_gives_no_length_is_an_error(given_cells, share):
    with pytest.raises(UsageError):
        effective_length(given_cells, share=share)


@pytest.mark.parametrize("cell", [(0, 1, 2), (5, 3, 2), (5, 0, 0), (5, -1, 2), (5.5, 1, 2)])
def test_a_cell_that_is_none_is_an_error(cell):
    with pytest.raises(UsageError):
        LengthCell(*cell)
