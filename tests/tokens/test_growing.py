"""Requests that begin alike, counted one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import ModelMissing, PolicyError
from pytest_ctxguard.strategies import policy_histories
from pytest_ctxguard.tokens import growing as module
from pytest_ctxguard.tokens.counters.functions import TextCounter
from pytest_ctxguard.tokens.growing import growing
from pytest_ctxguard.tokens.openai import OpenAICounter
from tests.factories import LetterCounter, call, calling, encoder, result, system, tool, user


@given(history=policy_histories(), order=st.randoms(use_true_random=False), tools=st.booleans())
def test_every_beginning_has_the_tokens_of_the_request_it_makes(history, order, tools):
    definitions = [tool()] if tools else []
    lengths = list(range(len(history) + 1))
    order.shuffle(lengths)
    size = growing(encoder(), tools=definitions)
    for length in lengths:
        assert size(history[:length]) == encoder().count(history[:length], tools=definitions)


@given(history=policy_histories(), data=st.data())
def test_any_request_has_its_tokens_whatever_was_counted_before(history, data):
    size = growing(encoder(), tools=[])
    for _ in range(4):
        request = data.draw(st.lists(st.sampled_from(history), max_size=12)) if history else []
        begins = data.draw(st.integers(0, len(history)))
        request = [*history[:begins], *request]
        assert size(request) == encoder().count(request)


def test_a_counter_of_another_kind_counts_each_request_whole():
    history = [user("abc"), user("de")]
    size = growing(LetterCounter(), tools=[tool()])
    assert [size(history[:length]) for length in range(3)] == [11, 14, 16]


def test_each_message_is_read_once(monkeypatch):
    read = []
    original = module.see
    monkeypatch.setattr(module, "see", lambda m, i: read.append(i) or original(m, i))
    history = [system(), user("a"), user("b"), user("c")]
    size = growing(encoder(), tools=[])
    for length in (2, 3, 3, 4):
        size(history[:length])
    assert read == [0, 1, 2, 3]


def test_what_cannot_be_rendered_is_refused_only_where_it_is_sent():
    history = [user("a"), {"role": "robot", "content": "b"}]
    size = growing(encoder(), tools=[])
    assert size(history[:1]) == encoder().count([user("a")])
    for _ in range(2):
        with pytest.raises(PolicyError, match=r"message 1 has role 'robot'"):
            size(history)
    assert size(history[:1]) == encoder().count([user("a")])


def test_results_that_follow_each_other_are_one_unit():
    history = [user("a"), result("x", "c1"), result("y", "c2"), user("b")]
    size = growing(encoder(), tools=[])
    assert [size(history[:n]) for n in range(5)] == [encoder().count(history[:n]) for n in range(5)]


@given(history=policy_histories(), data=st.data())
def test_a_counter_of_messages_agrees_with_itself_whatever_was_counted_before(history, data):
    counter = TextCounter(len)
    size = growing(counter, tools=[tool()])
    for _ in range(4):
        begins = data.draw(st.integers(0, len(history)))
        request = [*history[:begins], *history[data.draw(st.integers(0, len(history))) :]]
        assert size(request) == counter.count(request, tools=[tool()])


def test_openais_counter_knows_which_call_a_result_answers_across_requests():
    try:
        counter = OpenAICounter()
    except ModelMissing as error:
        pytest.skip(str(error))
    history = [user("Look."), calling(call("c1", "read_log")), result("ok", "c1"), user("So?")]
    size = growing(counter, tools=(tool("read_log"),))
    for length in (1, 2, 3, 4, 2, 4):
        asked = history[:length]
        assert size(asked) == counter.count(asked, tools=(tool("read_log"),))
