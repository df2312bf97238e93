"""Not worse by more than a margin: realised error rates, by enumeration."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import changed_needs, noninferior, unchanged_needs
from pytest_ctxguard.stats.noninferiority import _score, p_above, p_below


def pair(lost, gained, of):
    """Two runs of ``of`` trials; half of those that do not change are hits."""
    before = {str(n): "hit" if n < lost or n % 2 else "other" for n in range(of)}
    for n in range(lost, lost + gained):
        before[str(n)] = "other"
    after = dict(before)
    after.update({str(n): "other" for n in range(lost)})
    after.update({str(n): "hit" for n in range(lost, lost + gained)})
    return before, after


def verdicts(of, **arguments):
    return {
        (lost, gained): noninferior(*pair(lost, gained, of), **arguments).verdict
        for lost in range(of + 1)
        for gained in range(of + 1 - lost)
    }


def chance(which, found, of, *, losses, gains):
    """Probability of a verdict, summed over every table."""
    rest = 1 - losses - gains
    return math.fsum(
        math.comb(of, lost)
        * math.comb(of - lost, gained)
        * losses**lost
        * gains**gained
        * max(0, rest) ** (of - lost - gained)
        for (lost, gained), verdict in found.items()
        if verdict == which
    )


@pytest.mark.parametrize(("of", "margin"), [(8, 0.3), (14, 0.2), (20, 0.15)])
def test_neither_error_is_made_more_often_than_alpha(of, margin):
    found = verdicts(of, margin=margin)
    for fall in (margin, margin + 0.02, margin + 0.2):
        for step in range(41):
            gains = (1 - fall) / 2 * (step / 40) ** 2
            assert chance("pass", found, of, losses=gains + fall, gains=gains) <= 0.05 + 1e-6
    for fall in (margin, margin / 2, 0):
        for step in range(41):
            gains = (1 - fall) / 2 * (step / 40) ** 2
            assert chance("fail", found, of, losses=gains + fall, gains=gains) <= 0.05 + 1e-6


def test_a_family_fails_less_easily_and_passes_as_before():
    alone, together = verdicts(14, margin=0.2), verdicts(14, margin=0.2, family=9)
    passed = [table for table, verdict in alone.items() if verdict == "pass"]
    assert passed == [table for table, verdict in together.items() if verdict == "pass"]
    failed = {table for table, verdict in together.items() if verdict == "fail"}
    assert failed < {table for table, verdict in alone.items() if verdict == "fail"}


def test_the_verdicts():
    assert noninferior(*pair(0, 0, 32), margin=0.1).verdict == "pass"
    assert noninferior(*pair(2, 0, 32), margin=0.1).verdict == "inconclusive"
    assert noninferior(*pair(12, 0, 32), margin=0.1).verdict == "fail"
    result = noninferior(*pair(3, 2, 200), margin=0.1)
    assert (result.verdict, len(result.changes.lost), len(result.changes.gained)) == ("pass", 3, 2)


@pytest.mark.parametrize(("margin", "needed"), [(0.05, 59), (0.1, 29), (0.2, 14), (0.3, 10)])
def test_the_trials_with_which_no_change_passes(margin, needed):
    """About where (1 - margin) ** n, the chance of no loss at all, reaches alpha."""
    assert unchanged_needs(margin) == needed
    unchanged = pair(0, 0, needed)
    assert noninferior(*unchanged, margin=margin).verdict == "pass"
    assert noninferior(*pair(0, 0, needed - 1), margin=margin).verdict == "inconclusive"


tables = st.integers(1, 25).flatmap(
    lambda of: st.integers(0, of).flatmap(
        lambda lost: st.tuples(st.just(lost), st.integers(0, of - lost), st.just(of))
    )
)


@given(tables, st.floats(0.01, 0.9))
def test_the_statistic_rises_with_losses_and_falls_with_gains(table, margin):
    """What the search along one boundary rests on (Sidik 2003)."""
    lost, gained, of = table
    here = _score(lost, gained, of=of, margin=margin)
    if lost + gained < of:
        assert _score(lost, gained + 1, of=of, margin=margin) < here
        assert _score(lost + 1, gained, of=of, margin=margin) > here
    if gained:
        assert _score(lost + 1, gained - 1, of=of, margin=margin) > here


@given(tables, st.floats(0.01, 0.9))
@settings(max_examples=40)
def test_the_rate_in_the_statistic_is_the_likeliest(table, margin):
    lost, gained, of = table

    def likelihood(rate):
        parts = ((lost, rate + margin), (gained, rate), (of - lost - gained, 1 - 2 * rate - margin))
        return sum(n * math.log(p) if p > 0 else -math.inf for n, p in parts if n)

    fall = lost - gained - of * margin
    score = _score(lost, gained, of=of, margin=margin)
    if abs(score) < 1e-6:
        return
    variance = (fall / score) ** 2 / of  # 2 * rate + margin * (1 - margin)
    rate = (variance - margin * (1 - margin)) / 2
    best = likelihood(min(max(rate, 0), (1 - margin) / 2))
    for step in range(101):
        assert likelihood((1 - margin) / 2 * step / 100) <= best + 1e-6


@given(tables, st.floats(0.02, 0.8))
@settings(max_examples=30, deadline=None)
def test_the_p_values_are_the_worst_sums_over_tables(table, margin):
    lost, gained, of = table
    score = _score(lost, gained, of=of, margin=margin)
    scores = {
        (b, c): _score(b, c, of=of, margin=margin) for b in range(of + 1) for c in range(of + 1 - b)
    }
    low = {at: "in" if other <= score + 1e-9 else "out" for at, other in scores.items()}
    high = {at: "in" if other >= score - 1e-9 else "out" for at, other in scores.items()}
    below = p_below(lost, gained, of=of, margin=margin)
    above = p_above(lost, gained, of=of, margin=margin)
    for step in range(31):
        gains = (1 - margin) / 2 * (step / 30) ** 2
        rates = {"losses": gains + margin, "gains": gains}
        assert chance("in", low, of, **rates) <= below + 1e-6
        assert chance("in", high, of, **rates) <= above + 1e-6


@pytest.mark.parametrize(
    "arguments",
    [
        {"margin": 0},
        {"margin": 1},
        {"margin": math.nan},
        {"margin": -0.1},
        {"margin": 0.1, "alpha": 0},
        {"margin": 0.1, "family": 0},
    ],
)
def test_bad_input_is_an_error(arguments):
    with pytest.raises(UsageError):
        noninferior(*pair(0, 0, 32), **arguments)


def test_a_margin_that_takes_too_many_trials():
    with pytest.raises(UsageError, match="takes more than 10,000 trials"):
        unchanged_needs(0.0001)


@pytest.mark.parametrize(("lost", "gained"), [(1, 0), (2, 1), (3, 2), (1, 1), (2, 2)])
def test_as_many_trials_as_it_is_said_to_need_show_it(lost, gained):
    needed = changed_needs(lost, gained, of=32, margin=0.2)
    assert needed > 32

    def p(trials):
        """The p-value if as many of these trials change."""
        scaled = (round(count * trials / 32) for count in (lost, gained))
        return p_below(*scaled, of=trials, margin=0.2)

    assert p(needed) <= 0.05


def test_no_number_shows_a_loss_that_is_the_margin():
    assert changed_needs(10, 0, of=50, margin=0.2) is None
    assert changed_needs(12, 1, of=50, margin=0.2) is None
    assert changed_needs(10, 1, of=50, margin=0.2) > 1_000
    assert changed_needs(0, 0, of=5, margin=0.2) == unchanged_needs(0.2)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(40, 200))
def test_more_changes_need_no_fewer_trials(lost, gained, of):
    fewer, more = (
        changed_needs(lost + extra, gained + extra, of=of, margin=0.6) for extra in (0, 1)
    )
    assert fewer <= more
