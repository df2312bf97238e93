"""Pairs of UUIDs."""

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.pairs import HEAD, MOST, pairs, pairs_haystack


@given(
    records=st.integers(min_value=1, max_value=40),
    depth=st.floats(min_value=0, max_value=1),
    trial=st.integers(min_value=0, max_value=1000),
)
def test_the_value_stands_under_the_key_that_is_asked_for(records, depth, trial):
    haystack = pairs_haystack(records, depth=depth, seed=0, trial=trial)
    shown = json.loads(haystack.whole.removeprefix(HEAD))
    key = haystack.question.split('"')[1]
    assert shown[key] == haystack.value
    assert list(shown).index(key) == haystack.gold
    assert {*shown.values()} == {haystack.value, *haystack.look_alikes}
    assert len(shown) == records == len({*shown.values()})
    parts = [json.loads(part.removeprefix(HEAD)) for part in haystack.parts]
    assert [key for part in parts for key in part] == list(shown)


def test_they_are_random_uuids_and_the_same_in_every_run():
    drawn = pairs(3, seed=0, trial=0)
    assert all(uuid.UUID(text).version == 4 for pair in drawn for text in pair)
    assert drawn[1] == (
        "8acc94bf-b9d7-4a37-bf95-7373610d9f11",
        "235dd2c6-09ce-47c3-aa18-e52df515e345",
    )


@given(st.integers(min_value=1, max_value=40), st.integers(min_value=1, max_value=40))
def test_a_shorter_object_is_the_middle_of_a_longer_one(shorter, longer):
    shorter, longer = sorted((shorter, longer))
    start = (longer - 1) // 2 - (shorter - 1) // 2
    long = pairs(longer, seed=0, trial=0)
    assert long[start : start + shorter] == pairs(shorter, seed=0, trial=0)


@pytest.mark.parametrize("records", [0, MOST + 1])
def test_a_length_no_object_has(records):
    with pytest.raises(UsageError, match=f"an object has 1 to {MOST} pairs"):
        pairs(records, seed=0, trial=0)


def test_look_alikes_are_of_the_register():
    with pytest.raises(UsageError, match="every other value looks alike"):
        pairs_haystack(3, depth=0, seed=0, trial=0, look_alikes=1)
