"""What estimators are held against."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.estimates.references import check_against, references
from tests.factories import LetterCounter, encoder, user
from tests.tokens.tiny_vocabulary import tiny_json


def test_any_named_counter_is_one(tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text(tiny_json(), encoding="utf-8")
    [reference] = references(str(file))
    assert reference.name == str(file)
    assert reference.text("the") == 1
    assert reference.message is not None
    assert reference.message(user("the")) == 1 + 4  # what frames a message without a template


def test_a_counter_counts_texts_in_its_own_way_or_by_what_they_add():
    exact, letters = references([encoder(), LetterCounter()])
    assert exact.text("Which shard?") == len(encoder().encode_text("Which shard?"))
    assert letters.text("abc") == 3


def test_a_function_counts_texts_only():
    [reference] = references(len)
    assert (reference.text("abc"), reference.message) == (3, None)


def test_an_unknown_name_and_what_is_no_counter_are_refused():
    with pytest.raises(UsageError, match="no counter is named 'gpt'"):
        check_against("gpt")
    with pytest.raises(UsageError, match="against=4 is no counter"):
        check_against([4])
    with pytest.raises(UsageError, match="names nothing"):
        check_against([])
