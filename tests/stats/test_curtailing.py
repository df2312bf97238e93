"""Stopping early: the same verdict and the same trials, however they are asked."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats import (
    CountClaim,
    RateClaim,
    ask_until_decided,
    least_more,
    needed_prefix,
    verdict,
)


@st.composite
def runs(draw):
    """Outcomes of a planned sample, and one or two claims about it."""
    hits = draw(st.lists(st.booleans(), min_size=1, max_size=40))
    rate = RateClaim(
        draw(st.floats(0.05, 0.95)), len(hits), alpha=0.05, family=draw(st.sampled_from([1, 9]))
    )
    count = CountClaim(draw(st.integers(1, len(hits))), len(hits))
    return hits, draw(st.sampled_from([(rate,), (count,), (count, rate)]))


def asked(hits, claims, batch):
    """Ask in batches; return the kept outcomes, and how many were asked."""
    outcomes = ["hit" if hit else "other" for hit in hits]
    log = []

    def ask(ids):
        log.extend(ids)
        return [outcomes[int(id)] for id in ids]

    kept = ask_until_decided([str(n) for n in range(len(hits))], ask, claims=claims, batch=batch)
    return kept, len(log)


@given(runs())
def test_the_prefix_is_the_first_that_no_ending_can_change(run):
    hits, claims = run

    def decided(done):
        """Whether the worst and the best ending have the same verdicts."""
        count = sum(hits[:done])
        return all(
            verdict(claim, count) == verdict(claim, count + len(hits) - done) for claim in claims
        )

    first = next(n for n in range(len(hits) + 1) if decided(n))
    assert needed_prefix(hits, claims) == first
    for claim in claims:
        assert verdict(claim, sum(hits[:first])) == verdict(claim, sum(hits))


@given(runs(), st.none() | st.integers(1, 50))
def test_every_batch_size_keeps_the_same_trials(run, batch):
    hits, claims = run
    kept, _ = asked(hits, claims, batch)
    whole, _ = asked(hits, claims, len(hits))
    assert kept == whole
    assert list(kept) == [str(n) for n in range(needed_prefix(hits, claims))]


@given(runs())
def test_the_default_batches_ask_nothing_in_vain(run):
    kept, number = asked(*run, None)
    assert number == len(kept)


@given(runs())
def test_the_prefix_of_a_prefix_is_the_same(run):
    hits, claims = run
    needed = needed_prefix(hits, claims)
    assert all(needed_prefix(hits[:n], claims) == min(n, needed) for n in range(len(hits) + 1))


@pytest.mark.parametrize("claim", [RateClaim(0.5, 9), RateClaim(0.3, 9), CountClaim(4, 9)])
def test_the_least_number_more_decides_in_some_ending_and_fewer_in_none(claim):
    for done in range(7):
        for start in product([True, False], repeat=done):
            more = least_more(start, (claim,))
            for length in range(min(more + 1, 10 - done)):
                ends = product([True, False], repeat=length)
                decided = [least_more((*start, *end), (claim,)) == 0 for end in ends]
                assert any(decided) == (length == more)


def test_a_claim_is_settled_by_its_first_hits_or_misses():
    claim = RateClaim(0.5, 32)
    assert needed_prefix([True] * 32, (claim,)) == 22
    assert needed_prefix([False] * 32, (claim,)) == 22
    assert (
        needed_prefix([True, False] * 16, (claim,)) == 22
    )  # 11 of each: only inconclusive is left


def test_without_a_claim_every_trial_is_asked():
    kept, number = asked([True, False, True], (), None)
    assert (len(kept), number) == (3, 3)
    kept, number = asked([True, False, True], (), 2)
    assert (len(kept), number) == (3, 3)
    assert needed_prefix([True], ()) == 1


@pytest.mark.parametrize(
    ("ids", "claims", "batch", "message"),
    [
        ("aa", (), None, "stands twice"),
        ("ab", (CountClaim(1, 3),), None, "plan 3 trials, the ids are 2"),
        ("ab", (CountClaim(1, 2), CountClaim(1, 3)), None, r"\[2, 3\]"),
        ("ab", (), 0, "batch=0"),
    ],
)
def test_a_plan_that_does_not_fit_is_an_error(ids, claims, batch, message):
    with pytest.raises(UsageError, match=message):
        ask_until_decided(ids, lambda ids: ["hit"] * len(ids), claims=claims, batch=batch)


def test_answers_that_are_too_few_are_an_error():
    with pytest.raises(UsageError, match="2 trials were asked, 1 outcomes came back"):
        ask_until_decided("ab", lambda ids: ["hit"], claims=())


def test_nothing_is_decided_where_nothing_is_claimed():
    with pytest.raises(UsageError, match="without a claim"):
        least_more([True], ())


def test_more_outcomes_than_planned_are_an_error():
    with pytest.raises(UsageError, match="3 outcomes are more than the 2 trials"):
        needed_prefix([True] * 3, (CountClaim(1, 2),))
