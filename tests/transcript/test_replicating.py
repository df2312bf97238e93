"""One fact replicated over drawn values and places."""

import random
from collections import Counter
from functools import partial

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.placing import Plant
from pytest_ctxguard.transcript.replicating import plant_many
from tests.factories import session

BADGE = Plant(name="badge", text="Tickets go under badge {value}.", wordings=("Which badge?",))
BADGES = [f"B-{number}" for number in range(50, 70)]
planted = partial(plant_many, session(), BADGE)


def digits(rng):
    return f"B-{int(rng.random() * 90) + 10}"


def values(trials):
    return [trial.value for trial in trials]


def test_each_trial_has_its_own_value_and_a_stable_id():
    trials = planted(values=BADGES, turns=[1, 2])
    assert len(trials) == 20
    assert sorted(values(trials)) == BADGES
    assert values(trials) != BADGES
    assert [trial.id for trial in trials][:3] == ["badge#00", "badge#01", "badge#02"]
    for trial in trials:
        fact = trial.transcript.fact(trial.fact)
        assert f"badge {trial.value}." in full_text(trial.transcript.messages[fact.planted_at])
        assert trial.transcript.facts[:2] == session().facts


def test_places_are_used_equally_often_in_a_drawn_order():
    turns = [trial.turn for trial in planted(values=digits, turns=[1, 2, 3], trials=30)]
    assert Counter(turns) == {1: 10, 2: 10, 3: 10}
    assert turns != [1, 2, 3] * 10
    depths = planted(values=digits, depths=[0.0, 1.0], trials=4)
    assert Counter(trial.turn for trial in depths) == {1: 2, 3: 2}


def test_a_seed_gives_the_same_trials_and_another_one_others():
    first = planted(values=digits, turns=[1, 2], trials=8, seed="a")
    assert first == planted(values=digits, turns=[1, 2], trials=8, seed="a")
    assert values(first) != values(planted(values=digits, turns=[1, 2], trials=8, seed="b"))
    assert first[:4] == planted(values=digits, turns=[1, 2], trials=4, seed="a").trials


def test_one_place_for_all():
    fixed = Plant(name="badge", text="Badge {value}.", wordings=("Which?",), turn=2)
    assert {trial.turn for trial in plant_many(session(), fixed, values=BADGES)} == {2}
    above = Plant(name="badge", text="Badge {value}.", wordings=("Which?",), level="system")
    assert {trial.turn for trial in plant_many(session(), above, values=BADGES)} == {0}


def test_look_alikes_are_drawn_alike_and_said_besides():
    trials = planted(
        values=digits, turns=[1, 2], trials=6, look_alikes=3, look_alike_text="{value} is Otto's."
    )
    for trial in trials:
        fact = trial.transcript.fact("badge")
        assert len(set(fact.look_alikes) - {fact.value}) == 3
        said = "\n".join(map(full_text, trial.transcript.messages))
        assert all(f"{value} is Otto's." in said for value in fact.look_alikes)
    listed = planted(values=BADGES, turns=[1], look_alikes=2, look_alike_text="{value} is lost.")
    assert all(set(t.transcript.fact("badge").look_alikes) < set(BADGES) for t in listed)


def test_a_drawn_value_that_stands_in_the_transcript_is_drawn_again():
    shards = Plant(name="other", text="And {value}?", wordings=("Which other?",), turn=1)
    drawn = plant_many(
        session(), shards, values=lambda rng: f"pay-shard-{int(rng.random() * 9) + 1}", trials=7
    )
    assert sorted(values(drawn)) == [f"pay-shard-{n}" for n in (1, 2, 4, 5, 6, 8, 9)]


def test_depth_is_measured_once_for_each_place():
    measured = []

    def count(messages):
        measured.append(len(messages))
        return len(messages)

    planted(values=digits, depths=[0.0, 0.5, 1.0], trials=9, count=count)
    assert sorted(measured) == [2, 4, 8]


REFUSED = [
    ({"values": BADGES, "trials": 21}, "trials=21: there are 20 values, each for one trial"),
    ({"values": digits}, "trials= says how many values are drawn; a function has no end"),
    ({"values": BADGES, "trials": 0}, "trials=0: a number of trials is 1 or more"),
    ({"values": []}, "values=[]: give texts, each once, or a function that draws"),
    ({"values": digits, "trials": True}, "trials=True: a number of trials is 1 or more"),
    ({"values": "B-50"}, "values='B-50': give texts, each once, or a function that draws"),
    ({"values": ["B-50", "B-50"]}, "values=['B-50', 'B-50']: give texts, each once, or a function "
     "that draws"),
    ({"values": lambda rng: 7, "trials": 1}, "values= drew 7; it must return a text, and not "
     "empty"),
    ({"values": lambda rng: "B-50", "trials": 2}, "values= drew nothing new in 1000 tries, beside "
     "1 values drawn before and what stands in the transcript. Let it draw from more."),
    ({"values": BADGES, "depths": [0.5]}, "turns= and depths= both say where; give one"),
    ({"values": BADGES, "turns": [1, 1]}, "turns=[1, 1]: each once; places are used equally often"),
    ({"values": BADGES, "look_alikes": 1}, "look_alikes= (how many) and look_alike_text= (how) go "
     "together"),
    ({"values": BADGES, "look_alikes": 1, "look_alike_text": "x"}, "look_alike_text 'x' has no "
     "{value}"),
    ({"values": ["B-50"], "look_alikes": 1, "look_alike_text": "{value}"}, "1 values are too few "
     "for the look-alikes of each trial"),
    ({"values": BADGES, "turns": [9]}, "plant 'badge': turn 9: transcript 'small' has turns 1 to "
     "3"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "what"), REFUSED)
def test_what_is_refused(changes, what):
    with pytest.raises(UsageError) as caught:
        planted(**{"turns": [1], **changes})
    assert str(caught.value) == what


def test_a_value_or_a_place_said_twice():
    fixed = Plant(name="badge", text="{value}", wordings=("Which?",), value="B-1", turn=1)
    with pytest.raises(UsageError, match="'badge' has a value; values= are drawn"):
        plant_many(session(), fixed, values=BADGES)
    placed = Plant(name="badge", text="{value}", wordings=("Which?",), turn=1)
    with pytest.raises(UsageError, match="'badge' has a place; turns= or depths= say where"):
        plant_many(session(), placed, values=BADGES, turns=[2])


def test_the_seed_is_the_only_randomness():
    random.seed(1)
    first = planted(values=digits, turns=[1, 2], trials=4)
    random.seed(2)
    assert first == planted(values=digits, turns=[1, 2], trials=4)
