"""The beginnings of a history, counted as it grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.strategies import policy_histories
from pytest_ctxguard.tokens import growing as module
from pytest_ctxguard.tokens.growing import growing
from tests.factories import LetterCounter, encoder, result, system, tool, user


@given(history=policy_histories(), order=st.randoms(use_true_random=False), tools=st.booleans())
def test_every_beginning_has_the_tokens_of_the_request_it_makes(history, order, tools):
    definitions = [tool()] if tools else []
    lengths = list(range(len(history) + 1))
    order.shuffle(lengths)
    size = growing(encoder(), history, tools=definitions)
    for length in lengths:
        assert size(length) == encoder().count(history[:length], tools=definitions)


def test_a_counter_of_another_kind_counts_each_request_whole():
    counter = LetterCounter()
    size = growing(counter, [user("abc"), user("de")], tools=[tool()])
    assert [size(length) for length in range(3)] == [11, 14, 16]


def test_each_message_is_read_once(monkeypatch):
    read = []
    original = module.see
    monkeypatch.setattr(module, "see", lambda m, i: read.append(i) or original(m, i))
    size = growing(encoder(), [system(), user("a"), user("b"), user("c")], tools=[])
    for length in (2, 3, 3, 1, 4):
        size(length)
    assert read == [0, 1, 2, 3]


def test_what_cannot_be_rendered_is_refused_only_where_it_is_sent():
    size = growing(encoder(), [user("a"), {"role": "robot", "content": "b"}], tools=[])
    assert size(1) == encoder().count([user("a")])
    with pytest.raises(PolicyError, match=r"message 1 has role 'robot'"):
        size(2)
    with pytest.raises(PolicyError, match=r"message 1 has role 'robot'"):
        size(2)


def test_results_that_follow_each_other_are_one_unit():
    history = [user("a"), result("x", "c1"), result("y", "c2"), user("b")]
    size = growing(encoder(), history, tools=[])
    assert [size(n) for n in range(5)] == [encoder().count(history[:n]) for n in range(5)]
