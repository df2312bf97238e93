"""Scripted mode: fixed answers and faults, as the providers' clients meet them."""

from __future__ import annotations

import json
import time

import anthropic
import openai
import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.errors import BackendError, InputError, UsageError
from pytest_ctxguard.server.script import (
    Fault,
    ScriptedAnswers,
    load_script,
    read_answer,
    read_faults,
)
from tests.server.server_asks import ASK

BODY = {"model": "m", "messages": ASK}


def test_the_openai_client_tries_again_after_a_429(serve, openai_client):
    server = serve(["x"], faults={1: Fault(status=429, retry_after=0.2)})
    began = time.monotonic()
    done = openai_client(server, max_retries=1).chat.completions.create(**BODY)
    assert done.choices[0].message.content == "x"
    assert time.monotonic() - began >= 0.2
    assert len(server.requests) == 2


def test_a_429_without_retries(serve, openai_client, anthropic_client):
    server = serve([], faults={n: Fault(status=429, retry_after=3) for n in (1, 2)})
    with pytest.raises(openai.RateLimitError) as caught:
        openai_client(server).chat.completions.create(**BODY)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "3"
    with pytest.raises(anthropic.RateLimitError, match="rate_limit_error"):
        anthropic_client(server).messages.create(max_tokens=9, **BODY)


def test_an_overloaded_provider(serve, anthropic_client):
    server = serve(["x"], faults={1: Fault(status=529)})
    client = anthropic_client(server, max_retries=1)
    assert client.messages.create(max_tokens=9, **BODY).content[0].text == "x"


@pytest.mark.parametrize("body", ["<html>bad gateway</html>", {"error": {"message": "own"}}])
def test_a_fault_with_a_body_of_its_own(serve, http, body):
    server = serve([], faults={1: Fault(status=502, body=body)})
    response = http.post(f"{server.url}/v1/chat/completions", json=BODY)
    assert response.status_code == 502
    assert (response.text if isinstance(body, str) else response.json()) == body


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_stream_that_breaks_off(serve, openai_client, after):
    server = serve(["one two three four"], faults={1: Fault(drop_after=after)})
    chunks = []
    with pytest.raises(openai.APIConnectionError if after == 0 else Exception) as caught:  # noqa: PT012
        for chunk in openai_client(server).chat.completions.create(stream=True, **BODY):
            chunks.append(chunk)
    assert "incomplete" in repr(caught.value) + repr(caught.value.__cause__)
    assert len(chunks) == after


def test_an_answer_that_breaks_off(serve, openai_client):
    server = serve(["x", "y"], faults={1: Fault(drop_after=0)})
    with pytest.raises(openai.APIConnectionError):
        openai_client(server).chat.completions.create(**BODY)
    done = openai_client(server).chat.completions.create(**BODY)
    assert done.choices[0].message.content == "y"


def test_a_delay(serve, openai_client):
    server = serve(["x"], faults={1: Fault(delay=0.5)})
    with pytest.raises(openai.APITimeoutError):
        openai_client(server, timeout=0.2).chat.completions.create(**BODY)


def test_a_script_that_runs_out_says_so(serve, openai_client):
    client = openai_client(serve(["x"]))
    client.chat.completions.create(**BODY)
    with pytest.raises(openai.InternalServerError, match="has 1 answers; this request needs"):
        client.chat.completions.create(**BODY)


def test_answers_by_a_function(serve, openai_client):
    client = openai_client(serve(lambda messages: messages[-1]["content"].upper()))
    done = client.chat.completions.create(**BODY)
    assert done.choices[0].message.content == "HOW SLOW IS PAYMENTS-API?"


def test_forms_of_an_answer():
    call = ToolCall("f", '{"a": "д"}')
    assert read_answer("x") == Completion("x")
    expected = Completion("y", tool_calls=(call,), finish_reason="tool_calls")
    assert read_answer({"text": "y", "tool_calls": [{"name": "f", "arguments": {"a": "д"}}]}) == (
        expected
    )
    assert read_answer({"text": "y", "tool_calls": [call]}) == expected
    assert read_answer({"text": "z", "finish_reason": "length"}).finish_reason == "length"


@pytest.mark.parametrize(
    "answer",
    [{}, 3, {"txt": "x"}, {"text": 3}, {"text": "x", "finish_reason": "bored"}]
    + [{"tool_calls": [call]} for call in ("f", {"arguments": {}}, {"name": "f", "args": {}})],
    ids=repr,
)
def test_what_is_no_answer_is_said_where_it_is_written(answer):
    with pytest.raises(UsageError, match="scripted"):
        ScriptedAnswers(["fine", answer])


@pytest.mark.parametrize(
    "faults",
    [
        {0: Fault(status=500)},
        {"x": {"status": 500}},
        {1: {}},
        {1: {"state": 500}},
        {1: {"status": "500"}},
        {1: {"status": 200}},
        {1: {"retry_after": 3}},
        {1: {"delay": -1}},
        {1: {"drop_after": -1}},
    ],
    ids=repr,
)
def test_what_is_no_fault_is_said(faults):
    with pytest.raises(UsageError, match="fault"):
        read_faults(faults)


def write(tmp_path, data):
    path = tmp_path / "script.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_script_file(tmp_path):
    data = {
        "answers": ["one", {"tool_calls": [{"name": "f"}]}],
        "faults": {"2": {"status": 429, "retry_after": 1}},
    }
    script = load_script(write(tmp_path, data))
    assert script.answers[0] == Completion("one")
    assert script.answers[1].tool_calls == (ToolCall("f", "{}"),)
    assert script.faults == {2: Fault(status=429, retry_after=1)}
    assert load_script(write(tmp_path, {"faults": {"1": {"delay": 1}}})).answers is None


@pytest.mark.parametrize(
    "data",
    ["{", [], {}, {"answer": []}, {"answers": "x"}, {"answers": [3]}, {"faults": {"1": 5}}],
    ids=repr,
)
def test_a_broken_script_file_is_named(tmp_path, data):
    path = write(tmp_path, data)
    with pytest.raises(InputError) as caught:
        load_script(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_script_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_script(tmp_path / "none.json")


def test_an_answer_ends_where_its_watcher_wants_no_more():
    told = []
    ScriptedAnswers(["one two three"]).complete(ASK, watch=lambda word: bool(told.append(word)))
    assert told == ["one"]


def test_running_out_is_a_backend_error():
    with pytest.raises(BackendError, match="0 answers"):
        ScriptedAnswers([]).complete(ASK)
