"""Several questions at once: in order, bounded, and one failure is one failure."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.backend import BatchBackend, Completion, complete_many
from pytest_ctxguard.endpoint.together import together
from pytest_ctxguard.errors import BackendError, PromptTooLong
from tests.endpoint.servers import LLAMA_CPP_PYTHON, answer


def question(number):
    return [{"role": "user", "content": str(number)}]


def echo(body):
    return answer(body["messages"][0]["content"])


class Gate:
    """Answers nothing until so many questions are there at once."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size, timeout=10)
        self.now, self.most, self.turn = 0, 0, threading.Lock()

    def __call__(self, body):
        with self.turn:
            self.now += 1
            self.most = max(self.most, self.now)
        self.barrier.wait()
        with self.turn:
            self.now -= 1
        return echo(body)


@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_as_many_as_allowed_are_under_way_and_answers_keep_their_order(endpoint, other, at_once):
    gate = Gate(at_once)
    other.replies.extend([gate] * 24)
    backend = endpoint(other.url, at_once=at_once)
    found = backend.complete_many([question(n) for n in range(24)])
    assert [each.text for each in found] == [str(n) for n in range(24)]
    assert gate.most == at_once


def test_a_server_that_answers_one_after_the_other_is_asked_so(endpoint, other):
    gate = Gate(1)
    other.routes |= LLAMA_CPP_PYTHON
    other.replies.extend([gate] * 6)
    found = endpoint(other.url).complete_many([question(n) for n in range(6)])
    assert [each.text for each in found] == [str(n) for n in range(6)]
    assert gate.most == 1


def test_one_refusal_is_one_error_and_the_rest_goes_on(endpoint, other):
    def refuse_odd(body):
        number = int(body["messages"][0]["content"])
        if number == 3:
            return 400, {}, {"error": {"message": "too long", "n_prompt_tokens": 9, "n_ctx": 8}}
        return (404, {}, b"no") if number % 2 else echo(body)

    other.replies.extend([refuse_odd] * 8)
    found = endpoint(other.url).complete_many([question(n) for n in range(8)])
    assert [type(each) for each in found[::2]] == [Completion] * 4
    assert [type(each) for each in found[1::2]] == [
        BackendError,
        PromptTooLong,
        *[BackendError] * 2,
    ]
    assert all(each.__traceback__ is None for each in found[1::2])


def test_recall_finds_that_it_can_ask_together(endpoint, other):
    other.replies.extend([echo] * 4)
    backend = endpoint(other.url)
    _ = backend.identity  # asked for when a run opens it, with a question of its own
    assert isinstance(backend, BatchBackend)
    found = complete_many(backend, [question(n) for n in range(3)], max_tokens=5)
    assert [each.text for each in found] == ["0", "1", "2"]
    assert {body["max_tokens"] for body in other.asked[1:]} == {5}


def test_of_an_unknown_model_each_question_is_an_error(endpoint, other):
    found = endpoint(other.url, model="gpt").complete_many([question(1), question(2)])
    assert [str(each).partition(" ")[2][:22] for each in found] == ["does not serve 'gpt', "] * 2


def test_no_questions_are_no_answers(endpoint, other):
    assert endpoint(other.url).complete_many([]) == ()


@given(st.lists(st.integers()), st.integers(1, 9))
def test_results_are_those_of_one_by_one(items, at_once):
    assert together(str, items, at_once=at_once) == tuple(map(str, items))


def test_what_the_work_raises_is_raised_and_nothing_more_is_begun():
    begun = []

    def work(item):
        begun.append(item)
        raise KeyError(item)

    with pytest.raises(KeyError, match="0"):
        together(work, range(99), at_once=1)
    assert begun == [0]
