"""Messages through the real client."""

from __future__ import annotations

import pytest

from pytest_ctxguard.backend import Completion, Sampling, ToolCall
from tests.server.server_asks import ARGUMENTS, ASK, CALL, CLAUDE_TOOLS, TOOLS, tool_result
from tests.server.server_backends import Recording


def create(client, messages=ASK, **options):
    return client.messages.create(
        **{"model": "claude", "max_tokens": 99, **options}, messages=messages
    )


def test_an_answer_with_its_usage(serve, anthropic_client):
    completion = Completion("Slow.", prompt_tokens=31, cached_tokens=24, completion_tokens=2)
    client = anthropic_client(serve(backend=Recording(completion)))
    done = create(client)
    [block] = done.content
    assert (block.type, block.text) == ("text", "Slow.")
    assert (done.role, done.stop_reason, done.stop_sequence) == ("assistant", "end_turn", None)
    assert done.model == "claude"
    assert (done.usage.input_tokens, done.usage.cache_read_input_tokens) == (7, 24)
    assert done.usage.output_tokens == 2


@pytest.mark.parametrize(
    ("completion", "reason", "sequence"),
    [
        (Completion("x", finish_reason="length"), "max_tokens", None),
        (Completion("x", stopped_by="END"), "stop_sequence", "END"),
        (
            Completion("", tool_calls=(ToolCall("f", "[1]"),), finish_reason="tool_calls"),
            "tool_use",
            None,
        ),
    ],
    ids=["length", "stop", "tools"],
)
def test_stop_reasons(serve, anthropic_client, completion, reason, sequence):
    client = anthropic_client(serve(backend=Recording(completion)))
    done = create(client, stop_sequences=["END"])
    assert (done.stop_reason, done.stop_sequence) == (reason, sequence)


def test_what_is_asked_reaches_the_backend_in_openai_format(serve, anthropic_client):
    backend = Recording(Completion("x"))
    client = anthropic_client(serve(backend=backend))
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "get_metrics", "input": ARGUMENTS},
                {"type": "tool_use", "id": "t2", "name": "get_metrics", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "4 s"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [{"type": "text", "text": "5 s"}],
                },
                {"type": "text", "text": "Go on."},
            ],
        },
    ]
    system = [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}]
    sampling = {"temperature": 0.5, "top_p": 0.9}  # which new clients only send as extras
    options = {"stop_sequences": ["END"], "extra_body": sampling}
    create(client, messages, system=system, tools=CLAUDE_TOOLS, **options)
    [asked] = backend.asked
    calls = [
        {
            "id": "t1",
            "type": "function",
            "function": {"name": "get_metrics", "arguments": '{"service": "payments-api"}'},
        },
        {"id": "t2", "type": "function", "function": {"name": "get_metrics", "arguments": "{}"}},
    ]
    assert asked["messages"] == (
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "a\nb"},
        {"role": "assistant", "content": "Looking.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "t1", "content": "4 s"},
        {"role": "tool", "tool_call_id": "t2", "content": "5 s"},
        {"role": "user", "content": "Go on."},
    )
    assert asked["tools"] == tuple(TOOLS)
    assert (asked["max_tokens"], asked["stop"]) == (99, ("END",))
    assert asked["sampling"] == Sampling(temperature=0.5, top_p=0.9)


@pytest.mark.parametrize(
    ("choice", "expected", "names"),
    [
        ({"type": "auto"}, "auto", ["get_metrics", "search_logs"]),
        ({"type": "any"}, "required", ["get_metrics", "search_logs"]),
        ({"type": "tool", "name": "search_logs"}, "required", ["search_logs"]),
        ({"type": "none"}, "none", []),
    ],
    ids=["auto", "any", "tool", "none"],
)
def test_tool_choices(serve, anthropic_client, choice, expected, names):
    backend = Recording(Completion("x"))
    create(anthropic_client(serve(backend=backend)), tools=CLAUDE_TOOLS, tool_choice=choice)
    [asked] = backend.asked
    assert asked["tool_choice"] == expected
    assert [tool["function"]["name"] for tool in asked["tools"]] == names


def test_a_tool_use_and_its_result(serve, anthropic_client):
    client = anthropic_client(serve([{"text": "Looking.", **CALL}, "Slow."]))
    first = create(client, tools=CLAUDE_TOOLS)
    text, use = first.content
    assert (text.text, use.name, use.input) == ("Looking.", "get_metrics", ARGUMENTS)
    assert first.stop_reason == "tool_use"
    answer = {"role": "assistant", "content": first.content}
    second = create(client, [*ASK, answer, tool_result(use.id)], tools=CLAUDE_TOOLS)
    assert second.content[0].text == "Slow."


def test_a_stream_of_text_and_tool_use(serve, anthropic_client):
    client = anthropic_client(serve([{"text": "Let me look.", **CALL}]))
    with client.messages.stream(
        model="claude", max_tokens=9, messages=ASK, tools=CLAUDE_TOOLS
    ) as stream:
        kinds = [event.type for event in stream if not event.type.startswith("text")]
        final = stream.get_final_message()
    assert kinds == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "input_json",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    text, use = final.content
    assert (text.text, use.input, final.stop_reason) == ("Let me look.", ARGUMENTS, "tool_use")
    assert final.usage.output_tokens > 0


def test_a_raw_stream(serve, anthropic_client, encoder):
    client = anthropic_client(serve(["It is slow."]))
    events = list(create(client, stream=True))
    assert events[0].message.usage.input_tokens == len(encoder.encode(ASK))
    texts = [event.delta.text for event in events if event.type == "content_block_delta"]
    assert texts == ["It", " is", " slow."]
    assert events[-2].usage.input_tokens == len(encoder.encode(ASK))


def test_counting_tokens(serve, anthropic_client, encoder):
    client = anthropic_client(serve([], limit=5))  # counting refuses no length
    counted = client.messages.count_tokens(
        model="claude", messages=ASK, system="Be short.", tools=CLAUDE_TOOLS
    )
    messages = [{"role": "system", "content": "Be short."}, *ASK]
    assert counted.input_tokens == len(encoder.encode(messages, tools=TOOLS))


def test_the_models(serve, anthropic_client):
    [model] = anthropic_client(serve(["x"])).models.list().data
    assert (model.id, model.type) == ("scripted", "model")
