"""Refusals in words: which prompts were too long, and that no key is among them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.endpoint import EndpointBackend
from pytest_ctxguard.endpoint.refusing import error_of, first_line, too_long
from pytest_ctxguard.errors import BackendError, PromptTooLong, UsageError
from tests.endpoint.servers import ASK, SGLANG, answer, error

KEY = "s3cret"
LLAMA_CPP = {
    "code": 400,
    "message": "request (351 tokens) exceeds the available context size (256 tokens), try "
    "increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 351,
    "n_ctx": 256,
}
TOO_LONG = {
    "openai": (
        error(
            "This model's maximum context length is 4097 tokens. However, you requested 4120 "
            "tokens (3120 in the messages, 1000 in the completion).",
            code="context_length_exceeded",
        ),
        (4120, 4097),
    ),
    "openai-messages": (
        error(
            "This model's maximum context length is 16385 tokens. However, your messages "
            "resulted in 16399 tokens. Please reduce the length of the messages."
        ),
        (16399, 16385),
    ),
    "vllm": (
        error(
            "This model's maximum context length is 8192 tokens. However, you requested 64 output "
            "tokens and your prompt contains 10000 input tokens, for a total of 10064 tokens."
        ),
        (10064, 8192),
    ),
    "vllm-at-least": (
        error(
            "This model's maximum context length is 8192 tokens. However, you requested 64 output "
            "tokens and your prompt contains at least 8129 input tokens, for a total of at least "
            "8193 tokens."
        ),
        (8193, 8192),
    ),
    "vllm-characters": (
        error(
            "This model's maximum context length is 8192 tokens. However, you requested 64 output "
            "tokens and your prompt contains 100000 characters (more than 81280 characters, which "
            "is the upper bound for 8128 input tokens)."
        ),
        (8193, 8192),
    ),
    "sglang": (
        {
            "object": "error",
            "message": "Requested token count exceeds the model's maximum context length of 1000 "
            "tokens. You requested a total of 1206 tokens: 6 tokens from the input messages and "
            "1200 tokens for the completion.",
            "type": "BadRequestError",
            "code": 400,
        },
        (1206, 1000),
    ),
    "sglang-input": (
        error("The input (1001 tokens) is longer than the model's context length (1000 tokens)."),
        (1001, 1000),
    ),
    "sglang-scheduler": (
        error("Input length (1001 tokens) exceeds the maximum allowed length (994 tokens)."),
        (1001, 994),
    ),
    "llama.cpp": ({"error": LLAMA_CPP}, (351, 256)),
    "llama.cpp-in-words": (error(LLAMA_CPP["message"]), (351, 256)),
    "ollama": ({"error": json.dumps({"error": LLAMA_CPP})}, (351, 256)),
    "llama-cpp-python": (
        error(
            "This model's maximum context length is 16384 tokens. However, you requested 17078 "
            "tokens (17030 in the messages, 48 in the completion). Please reduce the length of "
            "the messages or completion.",
            code="context_length_exceeded",
        ),
        (17078, 16384),
    ),
}


@pytest.mark.parametrize(("reply", "figures"), TOO_LONG.values(), ids=TOO_LONG)
def test_each_servers_words_for_too_long(endpoint, other, reply, figures):
    other.replies.append((400, {}, reply))
    with pytest.raises(PromptTooLong) as caught:
        endpoint(other.url).complete(ASK)
    assert (caught.value.tokens, caught.value.limit) == figures


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ((501, {}, b"\n<html>\nbad"), r"answered 501: <html>\. See its log\.$"),
        ((400, {}, error("context_length_exceeded")), "answered 400: context_length_exceeded"),
        ((422, {}, {"detail": [{"loc": ["body"]}]}), r"answered 422: \[\{"),
        ((401, {}, error(f"wrong key {KEY} given")), r"401: wrong key \*\*\* given\. Set CTXG"),
        ((403, {}, b""), r"answered 403: \(empty\)\. Set CTXGUARD_ENDPOINT_KEY"),
        ((404, {}, error("The model `m` does not exist.")), "exist. Name a model that it serves"),
        ((413, {}, b"<html>"), "Allow larger requests"),
        ((400, {}, b"x" * 999), r"answered 400: x{300}\. Mend the request"),
        ((400, {}, b"a\x1b[31mb"), r"answered 400: a\\u001b\[31mb\."),
        ((200, {}, b"hello"), "sent what is no JSON object: hello"),
        ((200, {}, [1]), "sent what is no JSON object"),
        ((200, {}, error("upstream is down", code=502)), "answered 200: upstream is down"),
        ((307, {"location": "http://evil.test/"}, b""), "answered 307"),
    ],
)
def test_other_refusals_say_what_and_what_to_do(endpoint, other, reply, text):
    other.replies.append(reply)
    with pytest.raises(BackendError, match=text) as caught:
        endpoint(other.url, key=KEY).complete(ASK)
    assert not isinstance(caught.value, PromptTooLong)
    assert KEY not in str(caught.value)
    assert len(other.asked) == 1


@pytest.mark.parametrize("before", range(290, 301))
def test_no_part_of_a_key_is_left_where_a_text_is_cut(endpoint, other, before):
    other.replies.append((400, {}, error("x" * before + KEY)))
    with pytest.raises(BackendError) as caught:
        endpoint(other.url, key=KEY).complete(ASK)
    assert "s3" not in str(caught.value)


def test_a_key_with_letters_that_json_escapes(endpoint, other):
    key = 'a"b\\c'
    other.replies.append((401, {}, error(f"no {key}")))
    with pytest.raises(BackendError, match=r"answered 401: no \*\*\*\."):
        endpoint(other.url, key=key).complete(ASK)
    other.replies.append((401, {}, {"given": key}))
    with pytest.raises(BackendError, match=r"answered 401: .*\*\*\*") as caught:
        endpoint(other.url, key=key).complete(ASK)
    assert "b" not in str(caught.value).partition("given")[2].partition("Set")[0]


def test_a_key_that_the_server_tells_of_is_not_in_its_identity(endpoint, other):
    other.routes |= SGLANG
    other.replies.append(answer())
    assert KEY not in str(endpoint(other.url, key=KEY).identity)


@pytest.mark.parametrize("key", ["s3\ncret", "s3 cret", "s3crét", "s3\x00cret"])
def test_a_key_that_no_header_carries_is_not_shown(key):
    with pytest.raises(UsageError) as caught:
        EndpointBackend("http://127.0.0.1:1", key=key)
    assert "s3" not in str(caught.value)


@pytest.mark.parametrize("key", [None, "", " ", "\n"])
def test_no_key_is_no_header(endpoint, other, key):
    other.replies.append(answer())
    endpoint(other.url, key=key).complete(ASK)
    assert not any("authorization" in headers for _, headers, _ in other.seen)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["error", "message", "n_ctx"]) | st.text(), inner)
    ),
    max_leaves=8,
)


@given(JSON, st.text())
def test_whatever_a_server_sends_is_put_into_words(data, text):
    found = error_of(data)
    figures = too_long(found, text)
    assert figures is None or all(isinstance(each, int) for each in figures)
    assert first_line(text).isascii()
