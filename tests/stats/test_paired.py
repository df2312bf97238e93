"""The same trials twice."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import changes, mcnemar


def outcomes(text):
    """``"a+ b-"``: trial a is a hit, b is not."""
    return {part[:-1]: "hit" if part[-1] == "+" else "other" for part in text.split()}


def test_the_table_lists_ids():
    table = changes(outcomes("a+ b+ c- d-"), outcomes("d- c+ b- a+"))
    assert (table.kept, table.lost, table.gained, table.missed) == (("a",), ("b",), ("c",), ("d",))
    assert table.trials == 4


def test_other_ids_are_named():
    with pytest.raises(UsageError) as caught:
        changes(outcomes("a+ b+"), outcomes("b+ c+"))
    assert str(caught.value) == (
        "not the same trials, so they cannot be compared in pairs: only before: a; only after: c"
    )
    with pytest.raises(UsageError, match=r"only after: 0, 1, 2, 3, 4 and 3 more$"):
        changes({}, dict.fromkeys("01234567", "hit"))


def test_nothing_to_compare_is_an_error():
    with pytest.raises(UsageError, match="no trials to compare"):
        changes({}, {})


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_doubles_the_smaller_tail_of_a_fair_coin(lost, gained):
    n, k = lost + gained, min(lost, gained)
    tail = sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    assert mcnemar(lost, gained) == pytest.approx(min(1, 2 * tail))
    assert mcnemar(lost, gained) == mcnemar(gained, lost)


def test_mcnemar_of_a_textbook_table():
    assert mcnemar(5, 0) == 0.0625
    assert mcnemar(0, 0) == 1.0


@pytest.mark.parametrize(("lost", "gained"), [(-1, 2), (1, 2.0), (math.nan, 1)])
def test_bad_counts_are_an_error(lost, gained):
    with pytest.raises(UsageError):
        mcnemar(lost, gained)
