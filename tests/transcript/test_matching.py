"""How values are found in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.transcript.matching import (
    contains,
    contains_exactly,
    contains_text,
    normalised,
)
from tests.factories import employee, shard

TEXTS = [
    ("PAY  shard\n7", "pay-shard-7", True),
    ("pay-shard-7", "Pay Shard 7", True),
    ("pay-shard-72", "pay-shard-7", False),
    ("`pay_shard_7`", "pay-shard-7", True),
    ("ｐａｙ－ｓｈａｒｄ－７", "pay-shard-7", True),
    ("don\u2019t page", "don't page", True),
    ("a soft\u00adware fault", "software", True),
    ("Straße", "STRASSE", True),
    ("ﬁle", "file", True),
    ("кот", "Кот", True),
    ("который", "кот", False),
    ("номер4417", "4417", True),
    ("東京都にあります", "東京", True),
    ("서울은", "서울", True),
    ("C++ code", "C++", True),
    ("the Café", "cafe\u0301", True),
    ("anything", "...", False),
    ("", "a", False),
]


@pytest.mark.parametrize(("text", "value", "found"), TEXTS)
def test_a_value_in_a_normalised_text(text, value, found):
    assert contains_text(text, value) is found


@pytest.mark.parametrize(
    ("text", "found"), [("key aB3x!", True), ("key ab3x!", False), ("aB3x-1", False)]
)
def test_a_value_to_the_letter(text, found):
    assert contains_exactly(text, "aB3x") is found


@given(text=ctx.texts())
def test_normalising_twice_changes_nothing_more(text):
    assert normalised(normalised(text)) == normalised(text)


@given(before=ctx.texts(), after=ctx.texts())
def test_a_value_between_spaces_is_found_in_any_text(before, after):
    text = f"{before} pay-shard-7 {after}"
    assert contains(text, "pay-shard-7")
    assert contains_exactly(text, "pay-shard-7")
    assert contains_text(text, "pay-shard-7")


@given(text=st.text(), value=st.text())
def test_any_text_may_be_looked_through(text, value):
    for found in (contains, contains_exactly, contains_text):
        assert found(text, value) in (True, False)


def test_a_fact_compares_its_values_by_its_own_match():
    letter = shard(value="aB3x", match="exact", accepts=(), shape=".*")
    assert letter.mentions("aB3x")
    assert not letter.matches("AB3X")
    number = employee(value="1,234", match="number", look_alikes=("9911",))
    assert number.matches("1234 people")
    assert number.finds("9911", "9 911")
    assert not number.matches("shard-1234")


def test_accepted_expressions_are_searched_and_other_values_are_words():
    fact = shard(match="regex", accepts=(r"shard (?:number )?7\b", "pay-shard-7"))
    assert fact.matches("It is Shard number 7.")
    assert fact.mentions("pay-shard-7")
    assert not fact.matches("shard 72")
    assert not fact.finds("pay.shard", "pay-shard")


def test_the_value_is_mentioned_even_where_it_is_no_accepted_answer():
    fact = employee(value="four four one seven", accepts=("4417",))
    assert fact.mentions("I am Four Four One Seven")
    assert not fact.matches("I am Four Four One Seven")


def test_superseded_values_and_look_alikes_are_wrong_answers():
    fact = employee(kind="update", look_alikes=("9911",), supersedes=("3301",))
    assert fact.wrong == ("9911", "3301")


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({}, False),
        ({"kind": "forbidden"}, True),
        ({"lifetime": "turn"}, True),
        ({"lifetime": "durable"}, False),
    ],
)
def test_what_must_be_gone_when_it_is_asked_for(changes, gone):
    assert employee(**changes).must_be_gone is gone
