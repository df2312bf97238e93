"""A backend asked from other processes answers as in its own."""

from __future__ import annotations

import os
import secrets
import threading
from dataclasses import replace

import pytest

from pytest_ctxguard.backend import Completion, Sampling, ToolCall
from pytest_ctxguard.errors import BackendError, ModelError, ModelLost, PromptTooLong
from pytest_ctxguard.server.local import Link, LocalBackend, LocalServer, Place

ASK = [{"role": "user", "content": "How slow?"}]
TOOLS = [{"type": "function", "function": {"name": "get_metrics", "parameters": {"b": 1, "a": 2}}}]
FULL = Completion(
    "half a pair \ud83d",
    tool_calls=(ToolCall("get_metrics", '{"b": 1}'),),
    finish_reason="tool_calls",
    prompt_tokens=31,
    cached_tokens=12,
    completion_tokens=5,
    stopped_by="END",
)

TWIN = replace(FULL, cached_tokens=FULL.prompt_tokens)  # of an answer that another client had


class Answering:
    """Answers by the text of the last message, and keeps what it was asked."""

    identity = {"model": "toy@1", "numerics": "exact"}  # noqa: RUF012 - never changed
    fingerprint = "f"
    window = 99

    def __init__(self):
        self.asked = []

    def complete(self, messages, **options):
        options.pop("watch", None)
        self.asked.append((messages, options))
        text = messages[-1]["content"]
        if text == "bad":
            raise BackendError("out of memory")
        if text == "long":
            raise PromptTooLong(120, 99)
        if text == "broken":
            raise ZeroDivisionError("oh")
        return FULL


@pytest.fixture
def served(tmp_path):
    backend = Answering()
    place = Place(str(tmp_path / "s"), secrets.token_hex(8), os.getpid())
    threading.Thread(target=LocalServer(backend, place).serve, daemon=True).start()
    return backend, place


def connected(place):
    return LocalBackend(lambda: Link(place), encoder=object())


@pytest.fixture
def client(served):
    made = connected(served[1])
    yield made
    made.close()


def said(text):
    return [{"role": "user", "content": text}]


def test_it_is_what_it_serves(client):
    assert (client.identity, client.fingerprint, client.window) == (Answering.identity, "f", 99)


def test_an_answer_is_the_same_to_the_last_field(client):
    told = []
    assert client.complete(ASK, watch=lambda text: not told.append(text)) == FULL
    assert client.complete_many([ASK, ASK]) == (FULL, FULL)
    assert told == [FULL.text]


def test_a_request_is_the_same_to_the_last_field(served, client):
    messages = [{"role": "user", "content": "half \ud83d", "z": None, "a": [1.5, True]}]
    options = {"tools": TOOLS, "tool_choice": "required", "max_tokens": 7}
    sampling = Sampling(temperature=0.5, top_p=0.9, seed=3)
    client.complete(messages, stop=["END"], sampling=sampling, **options)
    client.complete_many([messages], **options)
    alone, together = served[0].asked
    assert alone == (messages, {**options, "stop": ["END"], "sampling": sampling})
    assert together == (messages, options)
    assert list(alone[0][0]) == list(messages[0])  # the order of keys is in the prompt


def test_errors_take_their_answers_place(client):
    bad, good, long = client.complete_many([said("bad"), ASK, said("long")])
    assert (str(bad), type(bad)) == ("out of memory", BackendError)
    assert good == FULL
    assert isinstance(long, PromptTooLong)
    assert (long.tokens, long.limit) == (120, 99)
    with pytest.raises(PromptTooLong):
        client.complete(said("long"))


def test_what_else_the_backend_raises_is_the_models_error_and_not_the_end(client):
    with pytest.raises(ModelError, match=f"process {os.getpid()}.*ZeroDivisionError: oh"):
        client.complete(said("broken"))
    assert client.complete(ASK) == FULL


def test_several_ask_at_once(served):
    clients = [connected(served[1]) for _ in range(4)]
    found = []
    threads = [
        threading.Thread(target=lambda c=c: found.extend(c.complete_many([ASK] * 5)))
        for c in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in clients:
        each.close()
    assert (found.count(FULL), found.count(TWIN)) == (5, 15)  # whoever's thread came first
    assert len(served[0].asked) == 1


def test_what_a_client_asks_twice_and_what_failed_is_asked_again(served, client):
    other = connected(served[1])
    assert client.complete_many([ASK]) == client.complete_many([ASK]) == (FULL,)
    assert other.complete_many([ASK], max_tokens=7) == (FULL,)  # another question
    assert other.complete_many([ASK, said("bad"), said("new")])[::2] == (TWIN, FULL)
    client.complete_many([said("bad")])
    other.close()
    asked = [messages[-1]["content"] for messages, _ in served[0].asked]
    assert asked == ["How slow?"] * 3 + ["bad", "new", "bad"]


def test_who_does_not_know_the_key_is_not_answered(served, client):
    place = served[1]
    with pytest.raises(ModelLost):
        Link(Place(place.address, "00" * 8, place.process))
    assert client.complete(ASK) == FULL


def test_a_request_after_a_lost_connection_looks_anew(served):
    links = []
    client = LocalBackend(lambda: links.append(Link(served[1])) or links[-1], encoder=object())
    links[0].close()
    assert client.complete(ASK) == FULL
    assert len(links) == 2
    client.close()


def test_another_model_than_before_is_not_asked(served):
    backend, place = served
    client = LocalBackend(lambda: Link(place), encoder=object())
    client.close()
    backend.fingerprint = "g"
    for _ in range(2):
        with pytest.raises(ModelError, match="changed"):
            client.complete(ASK)
    assert backend.asked == []


def test_nobody_there(tmp_path):
    with pytest.raises(ModelLost, match="process 4711, which runs the model for all workers, is"):
        Link(Place(str(tmp_path / "none"), "00", 4711))
