"""What the providers refuse, in their own words, through their own clients."""

from __future__ import annotations

import anthropic
import openai
import pytest

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError, PromptTooLong
from tests.server.server_asks import (
    ASK,
    CLAUDE_TOOLS,
    TOOLS,
    call_message,
    result_message,
    tool_result,
    tool_use,
)
from tests.server.server_backends import Recording

LONG = [{"role": "user", "content": "word " * 50}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def refused(client, messages=ASK, **options):
    """Return the body and status of the refusal by chat completions."""
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(**{"model": "m", **options}, messages=messages)
    return caught.value.body, caught.value.status_code


def refused_by_claude(client, messages=ASK, **options):
    """Return type and message of the refusal by messages, and its status."""
    with pytest.raises(anthropic.APIStatusError) as caught:
        client.messages.create(**{"model": "m", "max_tokens": 9, **options}, messages=messages)
    body = caught.value.body
    assert body["type"] == "error"
    return body["error"], caught.value.status_code


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_over_the_limit_to_openai(serve, openai_client, encoder, stream):
    server = serve([], limit=40)
    count = len(encoder.encode(LONG))
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client(server).chat.completions.create(model="m", messages=LONG, stream=stream)
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.body == {
        "message": "This model's maximum context length is 40 tokens. However, your messages "
        f"resulted in {count} tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_over_the_limit_to_anthropic(serve, anthropic_client, encoder, stream):
    client = anthropic_client(serve([], limit=40))
    error, status = refused_by_claude(client, LONG, stream=stream)
    count = len(encoder.encode(LONG))
    assert status == 400
    assert error == {
        "type": "invalid_request_error",
        "message": f"prompt is too long: {count} tokens > 40 maximum",
    }


def test_the_limit_counts_tools_and_is_met_exactly(serve, openai_client, encoder):
    count = len(encoder.encode(ASK, tools=TOOLS))
    exact = openai_client(serve(["yes"], limit=count))
    assert exact.chat.completions.create(model="m", messages=ASK, tools=TOOLS).choices
    body, _ = refused(openai_client(serve([], limit=count - 1)), tools=TOOLS)
    assert body["code"] == "context_length_exceeded"


@pytest.mark.parametrize("stream", [False, True])
def test_the_backends_own_window_is_refused_alike(serve, openai_client, stream):
    backend = Recording(PromptTooLong(9000, 8192))
    body, status = refused(openai_client(serve(backend=backend)), stream=stream)
    assert (status, body["code"]) == (400, "context_length_exceeded")
    assert "is 8192 tokens. However, your messages resulted in 9000 tokens" in body["message"]


def test_the_window_of_the_backend_is_the_default_limit(serve, openai_client):
    backend = Recording(Completion("x"))
    backend.window = 10
    body, _ = refused(openai_client(serve(backend=backend)))
    assert "maximum context length is 10 tokens" in body["message"]
    assert backend.asked == []


UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: c2"
)
ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)


@pytest.mark.parametrize(
    ("messages", "message", "param"),
    [
        ([*ASK, call_message("c1", "c2"), result_message("c1"), *ASK], UNANSWERED, "messages"),
        ([*ASK, result_message("c1")], ORPHAN, "messages.[1].role"),
        (
            [],
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            "messages",
        ),
    ],
    ids=["unanswered", "orphan", "empty"],
)
def test_messages_openai_refuses(idle, openai_client, messages, message, param):
    body, status = refused(openai_client(idle), messages)
    assert (status, body["type"]) == (400, "invalid_request_error")
    assert (body["message"], body["param"]) == (message, param)


def test_pairs_may_be_left_unchecked(serve, openai_client, anthropic_client):
    server = serve(["a", "b"], strict=False)
    messages = [*ASK, call_message("c1"), *ASK]
    assert openai_client(server).chat.completions.create(model="m", messages=messages).choices
    messages = [*ASK, tool_use("t1"), *ASK]
    assert anthropic_client(server).messages.create(model="m", max_tokens=9, messages=messages)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (
            [*ASK, tool_use("t1", "t2"), tool_result("t1"), tool_use("t3"), tool_result("t3")],
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
            "t2. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message.",
        ),
        (
            [*ASK, tool_result("t1")],
            "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
            "message.",
        ),
        ([], "messages: at least one message is required"),
        (
            [*ASK, {"role": "assistant", "content": "The"}],
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        ),
        (
            [{"role": "user", "content": ""}],
            "messages.0: all messages must have non-empty content except for the optional final "
            "assistant message",
        ),
        (
            [{"role": "system", "content": "x"}, *ASK],
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
            'parameter, not "system" as an input message role.',
        ),
    ],
    ids=["unanswered", "orphan", "none", "prefill", "empty", "system"],
)
def test_messages_anthropic_refuses(idle, anthropic_client, messages, message):
    error, status = refused_by_claude(anthropic_client(idle), messages)
    assert status == 400
    assert error == {"type": "invalid_request_error", "message": message}


@pytest.mark.parametrize(
    ("options", "param", "text"),
    [
        ({"n": 2}, "n", "Unsupported parameter: 'n'"),
        ({"logprobs": True}, "logprobs", "Unsupported parameter: 'logprobs'"),
        ({"response_format": {"type": "json_object"}}, "response_format", "Unsupported"),
        ({"temperature": 3}, "temperature", "expected a number from 0 to 2, but got 3"),
        ({"temperature": "hot"}, "temperature", "expected a number, but got a string"),
        ({"max_tokens": 0}, "max_tokens", "expected an integer >= 1, but got 0"),
        ({"max_tokens": 1, "max_completion_tokens": 1}, "max_tokens", "at the same time"),
        ({"stop": ["a"] * 5}, "stop", "array too long. Expected an array with maximum length 4"),
        ({"stop": [3]}, "stop", "expected a string or an array of strings"),
        ({"tool_choice": "auto"}, "tool_choice", "only allowed when 'tools' are specified"),
        ({"tools": TOOLS, "tool_choice": "any"}, "tool_choice", "Invalid value: 'any'"),
        (
            {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice",
            "no function named 'x'",
        ),
        ({"tools": [{"type": "custom"}]}, "tools[0].type", "Supported values are: 'function'"),
        ({"tools": [{"type": "function"}]}, "tools[0].function", "Missing required parameter"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "'stream' is enabled"),
        ({"model": ""}, None, "you must provide a model parameter"),
        ({"seed": "x"}, "seed", "expected an integer"),
    ],
)
def test_parameters_openai_refuses(idle, openai_client, options, param, text):
    body, status = refused(openai_client(idle), **options)
    assert (status, body["param"]) == (400, param)
    assert text in body["message"]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([{"role": "user", "content": [IMAGE]}], "Invalid content type. image_url is only"),
        ([{"role": "user", "content": {"text": "x"}}], "expected a string or an array of parts"),
        ([{"role": "user", "content": [{"type": "text"}]}], "expected a string, but got null"),
        ([{"role": "robot", "content": "x"}], "Invalid value: 'robot'"),
        (["hello"], "expected an object, but got a string"),
    ],
)
def test_content_openai_refuses(idle, openai_client, messages, text):
    body, status = refused(openai_client(idle), messages)
    assert status == 400
    assert text in body["message"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"extra_body": {"temperature": 1.5}}, "temperature: Input should be a number from 0 to 1"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking: pytest-ctxguard"),
        ({"extra_body": {"top_k": 5}}, "top_k: pytest-ctxguard's server does not support it"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "runs no tools of its own"),
        ({"tools": [{"name": "x"}]}, "tools.0.input_schema: Field required"),
        ({"tool_choice": {"type": "any"}}, "only be specified while providing `tools`"),
        (
            {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "tool", "name": "x"}},
            "tool_choice: x not in `tools`",
        ),
        ({"system": [{"type": "image"}]}, "takes no 'image' block here"),
    ],
)
def test_parameters_anthropic_refuses(idle, anthropic_client, options, text):
    error, status = refused_by_claude(anthropic_client(idle), **options)
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert text in error["message"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "image", "source": {}}], "takes no 'image' block here"),
        ([{"type": "text", "text": ""}], "text content blocks must be non-empty"),
        (7, "messages.0.content: Input should be a string or an array of blocks"),
        (None, "messages.0.content: Field required"),
    ],
)
def test_content_anthropic_refuses(idle, anthropic_client, content, text):
    client = anthropic_client(idle)
    error, _ = refused_by_claude(client, [{"role": "user", "content": content}])
    assert text in error["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_backend_that_fails_is_the_servers_error(serve, openai_client, anthropic_client, stream):
    server = serve(backend=Recording(BackendError("out of memory")))
    body, status = refused(openai_client(server), stream=stream)
    assert (status, body["type"], body["message"]) == (500, "server_error", "out of memory")
    error, status = refused_by_claude(anthropic_client(server), stream=stream)
    assert (status, error) == (500, {"type": "api_error", "message": "out of memory"})


def test_a_backend_that_breaks_is_named(serve, openai_client):
    server = serve(backend=Recording(ZeroDivisionError("no")))
    body, status = refused(openai_client(server))
    assert (status, body["message"]) == (500, "the backend raised ZeroDivisionError: no")
