"""Needles planted in a transcript."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.planted import (
    parse_plant_recipe,
    planted_at_depths,
    planted_sample,
)
from pytest_ctxguard.recall.needles.sample import uncut
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.placing import Plant
from pytest_ctxguard.transcript.replicating import plant_many
from tests.factories import encoder
from tests.plugin.project import mini_transcript

PIN = Plant(
    name="pin",
    text="For the record, the vault's pin is {value}.",
    wordings=("What is the vault's pin?", "Which pin opens the vault?"),
)
DEPTHS = (0.0, 0.5, 1.0)


def count(messages):
    return encoder().count(messages)


def pin(rng):
    return f"{int(rng.random() * 900_000) + 100_000}"


def sample(trials=3, depths=DEPTHS, seed=0, values=pin):
    return planted_at_depths(
        "mini",
        PIN,
        load=lambda name: mini_transcript(),
        values=values,
        depths=depths,
        trials=trials,
        seed=seed,
        count=count,
    )


def test_cells_of_other_depths_plant_the_same_values():
    cells = sample().cells
    assert [cell.name for cell in cells] == ["depth=0.0", "depth=0.5", "depth=1.0"]
    values = {
        tuple(needle.transcript.facts[0].value for needle in cell.needles.values())
        for cell in cells
    }
    assert len(values) == 1
    assert len({*values.pop()}) == 3


def test_the_depth_is_of_tokens():
    whole = count(mini_transcript().messages)
    for cell in sample(trials=1).cells:
        [needle] = cell.needles.values()
        [fact] = needle.transcript.facts
        before = count(needle.transcript.messages[: fact.planted_at])
        longest = max(count([message]) for message in mini_transcript().messages)
        assert abs(before - cell.depth * whole) <= longest


def test_a_trial_has_one_fact_and_one_wording():
    for cell in sample().cells:
        for needle in cell.needles.values():
            [fact] = needle.transcript.facts
            assert fact.wordings == PIN.wordings[:1]
            assert uncut(needle.transcript)[-1]["content"] == fact.wordings[0]
            assert fact.value in full_text(needle.transcript.messages[fact.planted_at])


def test_a_recipe_rebuilds_the_prompt_to_the_letter():
    for cell in sample().cells:
        for needle in cell.needles.values():
            line = str(needle)
            assert "\n" not in line
            assert "'" not in line
            again = parse_plant_recipe(line, load=lambda name: mini_transcript(), count=count)
            assert str(again) == line
            assert again.transcript == needle.transcript


def test_another_seed_draws_other_values():
    one, other = sample(seed=0), sample(seed=1)
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == sample(seed=0).fingerprint


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("planted:v2:{}", "it does not begin with planted:v1:"),
        ("planted", "it does not begin with planted:v1:"),
        ("planted:v1:{", "it does not end in JSON"),
        ("planted:v1:[]", "not an object with `transcript` and `plant`"),
        ('planted:v1:{"transcript": "mini"}', "not an object with `transcript` and `plant`"),
        ('planted:v1:{"transcript": 3, "plant": {}}', "`transcript` is not a text"),
        ('planted:v1:{"transcript": "mini", "plant": {"nam": 1}}', "unknown key 'nam'"),
        ('planted:v1:{"transcript": "mini", "plant": {"name": "pin"}}', "has no 'text'"),
    ],
)
def test_what_is_no_recipe(line, problem):
    with pytest.raises(UsageError) as caught:
        parse_plant_recipe(line, load=lambda name: mini_transcript(), count=count)
    assert problem in str(caught.value)


def test_depths_at_one_message_are_refused():
    with pytest.raises(UsageError, match="are the same message of mini"):
        sample(depths=(0.5, 0.5001))


def test_a_replicated_fact_is_one_cell_with_its_own_ids():
    planted = plant_many(mini_transcript(), PIN, values=pin, turns=[2, 4, 6], trials=5, seed=3)
    [cell] = planted_sample(planted).cells
    assert cell.name == ""
    assert list(cell.needles) == [trial.id for trial in planted]
    again = plant_many(mini_transcript(), PIN, values=pin, turns=[2, 4, 6], trials=5, seed=4)
    assert planted_sample(planted).fingerprint != planted_sample(again).fingerprint
