"""One question: what is sent, and what is made of the answer."""

from __future__ import annotations

import pytest

from pytest_ctxguard.backend import Completion, Sampling, ToolCall
from pytest_ctxguard.endpoint import EndpointBackend
from pytest_ctxguard.errors import BackendError, PromptTooLong, UsageError
from pytest_ctxguard.server.running import Server
from pytest_ctxguard.server.script import ScriptedAnswers
from pytest_ctxguard.tokens.request import RequestEncoder
from tests.endpoint.servers import ASK, LLAMA_CPP_PYTHON, OLLAMA, TOOLS, VLLM, answer


@pytest.fixture(scope="module")
def encoder():
    return RequestEncoder()


def test_through_our_server_it_is_as_in_process(encoder, endpoint):
    call = ToolCall("get_metrics", '{"service": "payments-api"}')
    answers = [
        Completion("Slow.", prompt_tokens=31, cached_tokens=24, completion_tokens=2),
        Completion("", (call,), "tool_calls", prompt_tokens=40, completion_tokens=9),
        Completion("one", finish_reason="length", prompt_tokens=5, completion_tokens=1),
    ]
    identity = {"model": "toy@1234", "numerics": "avx512, 2 threads"}
    with Server(ScriptedAnswers(answers, identity), encoder, limit=1000) as server:
        backend = endpoint(server.url)
        assert backend.identity == identity
        assert backend.window == 1000
        told = []
        assert backend.complete(ASK, watch=lambda text: not told.append(text)) == answers[0]
        assert backend.complete(ASK, tools=TOOLS, tool_choice="required") == answers[1]
        assert backend.complete(ASK, max_tokens=1) == answers[2]
        assert told == ["Slow."]


def test_a_prompt_too_long_for_our_server(encoder, endpoint):
    count = len(encoder.encode(ASK))
    server = Server(ScriptedAnswers([]), encoder, limit=count - 1)
    with server, pytest.raises(PromptTooLong) as caught:
        endpoint(server.url).complete(ASK)
    assert (caught.value.tokens, caught.value.limit) == (count, count - 1)


def test_what_is_sent(endpoint, other):
    other.replies.extend([answer()] * 4)
    backend = endpoint(other.url, key="s3cret\n")
    backend.complete(ASK)
    backend.complete(
        ASK,
        tools=TOOLS,
        stop=["END"],
        max_tokens=7,
        sampling=Sampling(temperature=0.5, top_p=0.9, seed=3),
    )
    backend.complete(ASK, tool_choice="required")
    backend.complete(ASK, tools=TOOLS, tool_choice="none")
    assert {headers["authorization"] for _, headers, _ in other.seen} == {"Bearer s3cret"}
    plain = {"model": "m", "messages": ASK, "max_tokens": 48, "temperature": 0.0, "seed": 0}
    sampled = {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "stop": ["END"]}
    assert other.asked == [
        plain,
        {**plain, **sampled, "tools": TOOLS, "tool_choice": "auto"},
        {**plain, "tool_choice": "required"},
        plain,
    ]


def test_penalties_that_a_models_defaults_ask_for_are_switched_off(endpoint, other):
    other.routes |= VLLM
    other.replies.append(answer())
    endpoint(other.url).complete(ASK)
    assert other.asked[0]["repetition_penalty"] == 1.0


def test_null_is_left_out_for_a_server_that_refuses_it(endpoint, other):
    messages = [*ASK, {"role": "assistant", "content": None, "tool_calls": []}]
    for routes in ({}, LLAMA_CPP_PYTHON):
        other.routes |= routes
        other.replies.append(answer())
        endpoint(other.url).complete(messages)
    assert [set(body["messages"][1]) for body in other.asked] == [
        {"role", "content", "tool_calls"},
        {"role", "tool_calls"},
    ]
    assert messages[1]["content"] is None


def test_half_a_surrogate_pair_is_sent(endpoint, other):
    other.replies.append(answer())
    endpoint(other.url).complete([{"role": "user", "content": "\ud800"}])
    assert other.asked[0]["messages"] == [{"role": "user", "content": "\ud800"}]


USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}


@pytest.mark.parametrize(
    ("reply", "completion"),
    [
        (answer("a", usage=USAGE), Completion("a", prompt_tokens=9, completion_tokens=2)),
        (answer("a", usage={"prompt_tokens": None}), Completion("a")),
        (answer(None), Completion("")),
        (answer("", reason="length"), Completion("", finish_reason="length")),
        (answer("cut", reason="length"), Completion("cut", finish_reason="length")),
        (answer("a", reason=None), Completion("a")),
        (answer("42", reasoning_content="6 by 7"), Completion("42")),
        (answer("42", reasoning="6 by 7"), Completion("42")),
        (answer("<think>\n6 by 7\n</think>\n\n42"), Completion("42")),
        (answer("so <think> is a tag"), Completion("so <think> is a tag")),
        (
            answer("", tool_calls=[{"function": {"name": "f", "arguments": {"n": 1}}}]),
            Completion("", (ToolCall("f", '{"n": 1}'),), "tool_calls"),
        ),
        (
            answer(
                None,
                reasoning_content="I call",
                tool_calls=[{"function": {"name": "f", "arguments": "{}"}}],
            ),
            Completion("", (ToolCall("f", "{}"),), "tool_calls"),
        ),
    ],
)
def test_what_is_made_of_an_answer(endpoint, other, reply, completion):
    other.replies.append(reply)
    assert endpoint(other.url).complete(ASK) == completion


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({}, "sent what is no chat completion"),
        ({"choices": []}, "sent what is no chat completion"),
        ({"choices": [{"message": None}]}, "sent what is no chat completion"),
        (answer(tool_calls=[{"function": {}}]), "sent what is no chat completion"),
        (answer("a", reason="abort"), 'an answer that ended by "abort", not by the model'),
        (answer("a", reason="content_filter"), 'ended by "content_filter"'),
        (answer(None, reasoning_content="hm", reason="length"), "reasoning and no answer"),
        (answer("<think>and so on", reason="length"), "reasoning and no answer"),
    ],
)
def test_what_is_no_answer_is_an_error_and_no_empty_text(endpoint, other, reply, text):
    other.replies.append(reply)
    with pytest.raises(BackendError, match=text):
        endpoint(other.url).complete(ASK)


@pytest.mark.parametrize(
    ("tokens", "whole"), [(2048, True), (2049, False), (2050, False), (4096, False)]
)
def test_a_prompt_that_ollama_may_have_cut_is_an_error(endpoint, other, tokens, whole):
    other.routes |= OLLAMA
    other.replies.append(answer(usage={"prompt_tokens": tokens}))
    backend = endpoint(other.url)
    if whole:
        assert backend.complete(ASK).prompt_tokens == tokens
        return
    with pytest.raises(BackendError, match=f"counted {tokens} .* has 4096 tokens.*may have cut"):
        backend.complete(ASK)


def test_an_ollama_that_does_not_say_its_window_is_an_error(endpoint, other):
    other.routes |= {**OLLAMA, "/api/ps": {"models": []}}
    other.replies.append(answer(usage={"prompt_tokens": 5}))
    with pytest.raises(BackendError, match="does not say its context window"):
        endpoint(other.url).complete(ASK)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://x/", "http://", "http://me:pw@x/", "http://x/?key=pw"]
)
def test_what_is_no_endpoint(url):
    with pytest.raises(UsageError) as caught:
        EndpointBackend(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("options", [{"at_once": 0}, {"timeout": 0}, {"timeout": -1}])
def test_impossible_options(options):
    with pytest.raises(UsageError, match="above 0"):
        EndpointBackend("http://127.0.0.1:1", **options)


def test_a_closed_backend_opens_again(endpoint, other):
    other.replies.extend([answer(), answer()])
    backend = endpoint(other.url)
    assert backend.complete(ASK).text == "x"
    backend.close()
    backend.close()
    assert backend.complete(ASK).text == "x"


def test_proxies_are_left_out_on_loopback(endpoint, other, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    other.replies.append(answer())
    assert endpoint(other.url).complete(ASK).text == "x"
