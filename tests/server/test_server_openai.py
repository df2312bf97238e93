"""Chat completions through the real client."""

from __future__ import annotations

import json

import openai
import pytest

from pytest_ctxguard.backend import Completion, Sampling
from tests.server.server_asks import ARGUMENTS, ASK, CALL, TOOLS
from tests.server.server_backends import Recording


def test_an_answer_with_its_usage(serve, openai_client, encoder):
    backend = Recording(Completion("Very slow.", prompt_tokens=31, cached_tokens=24))
    client = openai_client(serve(backend=backend))
    done = client.chat.completions.create(model="gpt-4o", messages=ASK)
    [choice] = done.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "Very slow.")
    assert (choice.finish_reason, choice.message.tool_calls) == ("stop", None)
    assert (done.object, done.model) == ("chat.completion", "gpt-4o")
    assert done.usage.prompt_tokens == 31
    assert done.usage.prompt_tokens_details.cached_tokens == 24
    assert done.usage.completion_tokens == len(encoder.encode_text("Very slow."))
    assert done.usage.total_tokens == 31 + done.usage.completion_tokens


def test_tokens_are_counted_where_the_backend_does_not(serve, openai_client, encoder):
    client = openai_client(serve(["Yes."]))
    done = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    assert done.usage.prompt_tokens == len(encoder.encode(ASK, tools=TOOLS))


def test_what_is_asked_reaches_the_backend(serve, openai_client):
    backend = Recording(Completion("x"))
    client = openai_client(serve(backend=backend))
    client.chat.completions.create(
        model="m",
        messages=ASK,
        tools=TOOLS,
        max_completion_tokens=7,
        stop=["\n", "END"],
        temperature=0.5,
        top_p=0.9,
        seed=3,
    )
    client.chat.completions.create(model="m", messages=ASK, max_tokens=5, stop="END")
    first, second = backend.asked
    assert first["messages"] == tuple(ASK)
    assert first["tools"] == tuple(TOOLS)
    assert (first["max_tokens"], first["stop"]) == (7, ("\n", "END"))
    assert first["sampling"] == Sampling(temperature=0.5, top_p=0.9, seed=3)
    assert (second["max_tokens"], second["stop"]) == (5, ("END",))
    assert second["sampling"] == Sampling()


@pytest.mark.parametrize(
    ("choice", "expected", "names"),
    [
        ("auto", "auto", ["get_metrics", "search_logs"]),
        ("required", "required", ["get_metrics", "search_logs"]),
        ("none", "none", []),
        (
            {"type": "function", "function": {"name": "search_logs"}},
            "required",
            ["search_logs"],
        ),
    ],
    ids=["auto", "required", "none", "named"],
)
def test_tool_choices(serve, openai_client, choice, expected, names):
    backend = Recording(Completion("x"))
    client = openai_client(serve(backend=backend))
    client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, tool_choice=choice)
    [asked] = backend.asked
    assert asked["tool_choice"] == expected
    assert [tool["function"]["name"] for tool in asked["tools"]] == names


def test_tool_calls_and_their_results(serve, openai_client):
    client = openai_client(serve([CALL, "Slow."]))
    first = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    [choice] = first.choices
    [call] = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_metrics", ARGUMENTS)
    result = {"role": "tool", "tool_call_id": call.id, "content": "p99 is 4 s"}
    history = [*ASK, choice.message.model_dump(exclude_none=True), result]
    second = client.chat.completions.create(model="m", messages=history, tools=TOOLS)
    assert second.choices[0].message.content == "Slow."


def test_parallel_calls_can_be_turned_off(serve, openai_client):
    two = {"tool_calls": CALL["tool_calls"] * 2}
    client = openai_client(serve([two, two]))
    for allowed, count in ((True, 2), (False, 1)):
        done = client.chat.completions.create(
            model="m", messages=ASK, tools=TOOLS, parallel_tool_calls=allowed
        )
        calls = done.choices[0].message.tool_calls
        assert len({call.id for call in calls}) == count


@pytest.mark.parametrize("wanted", [True, False])
def test_a_stream(serve, openai_client, wanted):
    client = openai_client(serve(["It is very slow."]))
    options = {"stream_options": {"include_usage": True}} if wanted else {}
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True, **options))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert [delta.content for delta in deltas if delta.content] == ["It", " is", " very", " slow."]
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    if wanted:
        assert chunks[-1].choices == []
        assert chunks[-1].usage.completion_tokens > 0
        assert all(chunk.usage is None for chunk in chunks[:-1])
    else:
        assert all(chunk.usage is None and chunk.choices for chunk in chunks)


def test_a_streamed_tool_call(serve, openai_client):
    client = openai_client(serve([{"text": "Let me look.", **CALL}]))
    with client.chat.completions.stream(model="m", messages=ASK, tools=TOOLS) as stream:
        final = stream.get_final_completion()
    [choice] = final.choices
    assert choice.message.content == "Let me look."
    assert choice.finish_reason == "tool_calls"
    assert json.loads(choice.message.tool_calls[0].function.arguments) == ARGUMENTS


async def ask_async(server):
    async with openai.AsyncOpenAI(base_url=server.openai_base_url, api_key="any") as client:
        stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def test_the_async_client(serve):
    import asyncio

    assert asyncio.run(ask_async(serve(["It is slow."]))) == "It is slow."


def test_the_models(serve, openai_client):
    server = serve(["x"], limit=4096)
    client = openai_client(server)
    [model] = client.models.list().data
    assert (model.id, model.max_model_len) == ("scripted", 4096)
    assert model.ctxguard == {"model": "scripted", "numerics": "exact"}
    assert client.models.retrieve("scripted").id == "scripted"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-4o")
    assert caught.value.code == "model_not_found"
