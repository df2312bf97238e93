"""Recipes: a line rebuilds a prompt, or says why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.recipe import EXAMPLE, Recipe, parse_recipe
from pytest_ctxguard.replay.values import digest
from pytest_ctxguard.transcript.facts import problem_of

recipes = st.builds(
    Recipe,
    haystack=st.sampled_from(["register", "pairs"]),
    records=st.integers(min_value=1, max_value=30),
    depth=st.floats(min_value=0, max_value=1),
    seed=st.integers(),
    trial=st.integers(min_value=0),
    layout=st.sampled_from(["message", "turns"]),
)


@given(recipes)
def test_a_recipe_is_read_back_from_its_line(recipe):
    read = parse_recipe(str(recipe))
    assert read == recipe
    assert str(read) == str(recipe)
    assert read.transcript == recipe.transcript


@given(recipes)
def test_what_it_builds_can_be_asked_for(recipe):
    transcript = recipe.transcript
    [fact] = transcript.facts
    assert problem_of(fact, transcript) is None
    assert transcript.messages[-1] == {"role": "user", "content": fact.wordings[0]}
    assert fact.asked_at == len(transcript.messages) - 1
    stated = [i for i, m in enumerate(transcript.messages) if fact.value in m["content"]]
    assert stated == [fact.planted_at]


def test_the_order_of_its_parts_does_not_matter():
    swapped = "register:trial=7:seed=0:depth=0.5:records=25:v1"
    assert str(parse_recipe(swapped)) == EXAMPLE


def test_what_differs_from_the_default_is_said():
    recipe = Recipe(
        haystack="register", records=8, depth=1, seed=-2, trial=0, layout="turns", look_alikes=0
    )
    line = "register:records=8:depth=1.0:seed=-2:trial=0:layout=turns:look_alikes=0:v1"
    assert str(recipe) == line
    assert parse_recipe(line) == recipe


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "it begins with '', not with register or pairs"),
        ("needle:records=1:v1", "it begins with 'needle'"),
        ("register:records=25:depth=0.5:seed=0:trial=7", "it does not end in a version"),
        ("register:records=25:depth=0.5:seed=0:trial=7:v9", "it is of v9; this release builds v1"),
        ("register:records=25:depth=0.5:seed=0:v1", "it does not say trial"),
        ("register:records=25:depth=0.5:seed=0:trial=7:tail=1:v1", "'tail=1' is no part of it"),
        ("register:records=25:depth=0.5:seed=0:trial:v1", "'trial' is no part of it"),
        ("register:records=2:records=2:depth=0.5:seed=0:trial=7:v1", "records is said twice"),
        ("register:records=many:depth=0.5:seed=0:trial=7:v1", "'many' is not a whole number"),
        ("register:records=25:depth=deep:seed=0:trial=7:v1", "depth='deep' is not a number"),
    ],
)
def test_what_is_no_recipe(line, problem):
    with pytest.raises(UsageError) as caught:
        parse_recipe(line)
    assert problem in str(caught.value)
    assert str(caught.value).endswith(f"A recipe reads: {EXAMPLE}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("depth=1.5", "a depth is a number from 0"),
        ("depth=nan", "a depth is a number from 0"),
        ("trial=-1", "trials are numbered from 0"),
        ("layout=rows", "neither 'message' nor 'turns'"),
    ],
)
def test_values_no_haystack_has(change, problem):
    name = change.partition("=")[0]
    parts = [part for part in EXAMPLE.split(":") if not part.startswith(f"{name}=")]
    with pytest.raises(UsageError, match=problem):
        parse_recipe(":".join([*parts[:-1], change, parts[-1]]))


def test_the_prompt_is_pinned_to_the_version():
    """Another text or another draw needs another version: committed recipes say what was asked."""
    assert digest(parse_recipe(EXAMPLE).transcript.messages) == "c392737bc9fead59"
    pairs = "pairs:records=5:depth=0.5:seed=0:trial=7:v1"
    assert digest(parse_recipe(pairs).transcript.messages) == "62ea26fd0c96a568"


def test_turns_give_each_record_a_turn_of_its_own():
    line = "register:records=5:depth=0.75:seed=0:trial=7:layout=turns:v1"
    transcript = parse_recipe(line).transcript
    assert [m["role"] for m in transcript.messages] == [
        "system",
        *["user", "assistant"] * 5,
        "user",
    ]
    assert len(transcript.turns) == 6
    [fact] = transcript.facts
    assert fact.planted_at == 7
