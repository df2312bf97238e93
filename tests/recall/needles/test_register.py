"""The register: what it can and cannot be confused with, and which record is asked for."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.register import (
    MOST,
    SHAPE,
    outward,
    register,
    register_haystack,
)
from tests.factories import encoder

lengths = st.integers(min_value=1, max_value=60)
depths = st.floats(min_value=0, max_value=1)
numbers = st.integers(min_value=0, max_value=10_000)


@given(records=lengths, seed=numbers, trial=numbers)
def test_owners_tickets_and_extensions_are_unique(records, seed, trial):
    drawn = register(records, seed=seed, trial=trial)
    for field in ("owner", "ticket", "extension"):
        assert len({getattr(record, field) for record in drawn}) == records


def test_the_longest_register_has_unique_owners():
    assert MOST >= 400
    assert len({record.owner for record in register(MOST, seed=0, trial=0)}) == MOST


@given(records=lengths, seed=numbers, trial=numbers)
def test_no_ticket_can_be_read_as_an_extension(records, seed, trial):
    drawn = register(records, seed=seed, trial=trial)
    for record in drawn:
        assert re.fullmatch(r"OPS-[0-9]{5}", record.ticket)
        assert re.fullmatch(r"[0-9]{4}", record.extension)
        assert not any(other.extension in record.ticket for other in drawn)
        assert not re.search(SHAPE, record.ticket)


def test_no_extension_of_any_register_is_inside_a_ticket_of_any_register():
    drawn = register(MOST, seed=1, trial=0) + register(MOST, seed=2, trial=5)
    tickets = "\n".join(record.ticket for record in drawn)
    assert not any(record.extension in tickets for record in drawn)


@given(records=lengths, depth=depths, seed=numbers, trial=numbers)
def test_every_gold_is_found_exactly_once(records, depth, seed, trial):
    haystack = register_haystack(records, depth=depth, seed=seed, trial=trial)
    assert haystack.whole.count(haystack.value) == 1
    owner = haystack.question.removeprefix("What is the extension of ").removesuffix("?")
    [line] = [line for line in haystack.whole.splitlines() if f"to {owner}," in line]
    assert line.endswith(f"on extension {haystack.value}.")
    assert haystack.parts[haystack.gold].endswith(line)
    assert "\n".join(haystack.parts) == haystack.whole


@given(records=lengths, depth=depths, trial=numbers, data=st.data())
def test_look_alikes_are_as_many_as_asked_for(records, depth, trial, data):
    wanted = data.draw(st.integers(min_value=0, max_value=records - 1))
    haystack = register_haystack(records, depth=depth, seed=0, trial=trial, look_alikes=wanted)
    shown = re.findall(SHAPE, haystack.whole)
    assert len(haystack.look_alikes) == wanted
    assert sorted(shown) == sorted([haystack.value, *haystack.look_alikes])
    assert haystack.whole.count("\n") == records


def test_all_look_alikes_is_the_default():
    told = register_haystack(25, depth=0.25, seed=0, trial=3, look_alikes=24)
    assert told == register_haystack(25, depth=0.25, seed=0, trial=3)


@pytest.mark.parametrize(
    ("depth", "gold"), [(0, 0), (0.125, 3), (0.25, 6), (0.5, 12), (0.875, 21), (1, 24)]
)
def test_depths_of_a_trial_ask_about_the_record_there_in_the_same_register(depth, gold):
    first = register_haystack(25, depth=0, seed=0, trial=7)
    haystack = register_haystack(25, depth=depth, seed=0, trial=7)
    assert haystack.gold == gold
    assert haystack.whole == first.whole


@given(shorter=lengths, longer=lengths, trial=numbers)
def test_a_shorter_register_is_the_middle_of_a_longer_one(shorter, longer, trial):
    shorter, longer = sorted((shorter, longer))
    short = register_haystack(shorter, depth=0.5, seed=0, trial=trial)
    long = register_haystack(longer, depth=0.5, seed=0, trial=trial)
    assert short.question == long.question
    assert "\n".join(short.whole.splitlines()[1:]) in long.whole


@given(lengths)
def test_records_are_drawn_from_the_middle_outwards(records):
    ranks = outward(records)
    assert sorted(ranks) == list(range(records))
    assert ranks[(records - 1) // 2] == 0
    middle = ranks.index(0)
    assert all(a > b for a, b in pairwise(ranks[: middle + 1]))
    assert all(a < b for a, b in pairwise(ranks[middle:]))


@pytest.mark.parametrize("records", [25, 140])
@pytest.mark.parametrize("depth", [0, 0.125, 0.3, 0.5, 0.8, 1])
def test_the_depth_is_right_in_tokens_to_within_a_record(records, depth):
    haystack = register_haystack(records, depth=depth, seed=0, trial=1)
    sizes = [len(encoder().encode_text(line + "\n")) for line in haystack.parts]
    before, after = sum(sizes[: haystack.gold]), sum(sizes[haystack.gold + 1 :])
    assert abs(before - depth * (before + after)) <= max(sizes)


def test_another_seed_or_trial_is_another_draw():
    drawn = {
        register_haystack(25, depth=0.5, seed=seed, trial=trial).whole
        for seed in range(3)
        for trial in range(3)
    }
    assert len(drawn) == 9


@pytest.mark.parametrize("records", [0, -1, MOST + 1])
def test_a_length_no_register_has(records):
    with pytest.raises(UsageError, match=rf"records={records}: a register has 1 to {MOST}"):
        register(records, seed=0, trial=0)


@pytest.mark.parametrize("look_alikes", [-1, 3])
def test_more_look_alikes_than_other_records(look_alikes):
    with pytest.raises(UsageError, match="of 3 records, 0 to 2 can look like the one asked for"):
        register_haystack(3, depth=0, seed=0, trial=0, look_alikes=look_alikes)
