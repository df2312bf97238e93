"""Chat-completions bodies: requests, responses, streams; of OpenAI and of those that copy it."""

import json

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.server.openai_out import OpenAIShape
from pytest_ctxguard.server.refusals import Refusal
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.wire import sse
from pytest_ctxguard.transcript.wire.openai_chat import WIRE
from tests.factories import assistant, call, calling, result, system, tool, user

PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def asked(*messages, **fields):
    return WIRE.asked({"model": "gpt-4o", "messages": list(messages), **fields})


def response(message, *, finish_reason="stop", **fields):
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1747148049,
        "model": "gpt-4o-2024-08-06",
        "choices": [choice],
        **fields,
    }
    return ChatCompletion.model_validate(body).model_dump()  # with every null the client adds


def chunk(delta=None, *, finish_reason=None, index=0, **fields):
    choice = {"index": index, "delta": delta or {}, "finish_reason": finish_reason}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1747148049,
        "model": "gpt-4o-2024-08-06",
        "choices": [choice],
        **fields,
    }
    return ChatCompletionChunk.model_validate(body).model_dump()


def piece(index, arguments="", **fields):
    named = {"name": fields.pop("name")} if "name" in fields else {}
    return {
        "tool_calls": [{"index": index, "function": {"arguments": arguments, **named}, **fields}]
    }


def assembled(*chunks):
    return WIRE.answer(WIRE.assemble(chunks))


def test_a_request():
    request = asked(
        system(),
        user("a"),
        calling(call()),
        result("ok"),
        tools=[tool()],
        tool_choice="auto",
        temperature=0,
        stop=None,
        stream=True,
    )
    assert request.messages == (system(), user("a"), calling(call()), result("ok"))
    assert request.tools == (tool(),)
    assert (request.model, request.previous) == ("gpt-4o", None)
    assert request.settings == {"tool_choice": "auto", "temperature": 0}


def test_parts():
    marked = {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    audio = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
    strange = {"type": "video", "video": [1]}
    image = {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}
    request = asked(
        user([{"type": "text", "text": "a"}]),
        user(["a", marked, image, audio, strange]),
        user([{"type": "image_url", "image_url": "https://example.com/a.png"}]),
    )
    assert request.messages[0] == user("a")
    assert request.messages[1]["content"] == [
        {"type": "text", "text": "a"},
        marked,
        {**image, "size": {"bytes": 42, "width": 1, "height": 1}},
        audio,
        {"type": "opaque", "of": "openai-chat/video", "data": strange},
    ]
    assert request.messages[2]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    ]


def test_deprecated_functions_become_tool_calls():
    function = {"name": "read_log", "arguments": '{"a": 1}'}
    called = {"role": "assistant", "content": None, "function_call": function}
    answered = {"role": "function", "name": "read_log", "content": "ok"}
    request = asked(user("a"), called, answered, called, answered, functions=[tool()["function"]])
    assert request.tools == (tool(),)
    first, second = request.messages[1]["tool_calls"] + request.messages[3]["tool_calls"]
    assert first["function"] == second["function"] == function
    assert pair(request.messages).answered == {(1, 0): 2, (3, 0): 4}
    assert request.messages[2] == {
        "role": "tool",
        "content": "ok",
        "tool_call_id": first["id"],
        "name": "read_log",
    }
    reply = WIRE.answer(response(called, finish_reason="function_call")).messages[0]
    assert reply["tool_calls"][0]["function"] == function


def test_custom_tools_and_calls_keep_their_text():
    definition = {"type": "custom", "custom": {"name": "run", "description": "Run code."}}
    called = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    request = asked(user("a"), calling(called), result("1"), tools=[definition])
    assert request.tools == ({"type": "custom", "function": definition["custom"]},)
    assert request.messages[1]["tool_calls"] == [
        {"id": "c1", "type": "custom", "function": {"name": "run", "arguments": "print(1)"}}
    ]


def test_an_answer_is_what_the_client_sends_back():
    told = response(
        {"role": "assistant", "content": None, "tool_calls": [call()], "annotations": []},
        finish_reason="tool_calls",
        usage={
            "prompt_tokens": 54,
            "completion_tokens": 20,
            "total_tokens": 74,
            "prompt_tokens_details": {"cached_tokens": 32},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    )
    answer = WIRE.answer(told)
    assert answer.messages == asked(calling(call())).messages
    assert answer.id == "chatcmpl-1"
    assert answer.call == {
        "model": "gpt-4o-2024-08-06",
        "prompt_tokens": 54,
        "cached_tokens": 32,
        "completion_tokens": 20,
        "reasoning_tokens": 5,
        "finish_reason": "tool_calls",
        "time": "2025-05-13T14:54:09+00:00",
    }


def test_without_usage_nothing_is_said_of_it():
    assert set(WIRE.answer(response(assistant("b"))).call) == {"model", "finish_reason", "time"}


@pytest.mark.parametrize("created", [None, "now", True, 1e300, float("nan")])
def test_a_time_that_is_none_is_left_out_and_whole_floats_are_counts(created):
    choices = [{"message": assistant("b")}]
    answer = WIRE.answer({"choices": choices, "created": created, "usage": {"prompt_tokens": 8.0}})
    assert answer.call == {"prompt_tokens": 8}


def test_deepseek():
    said = {
        **calling({**call(), "index": 0}, content="Let me look."),
        "reasoning_content": "Hm.",
    }
    usage = {"prompt_tokens": 9, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3}
    body = {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "usage": usage}
    answer = WIRE.answer(body)
    assert answer.messages == (
        {**calling(call(), content="Let me look."), "reasoning_content": "Hm."},
    )
    assert (answer.call["prompt_tokens"], answer.call["cached_tokens"]) == (9, 6)


def test_refusals_audio_and_annotations_are_kept():
    cited = {
        "type": "url_citation",
        "url_citation": {"end_index": 1, "start_index": 0, "title": "t", "url": "u"},
    }
    said = {
        "role": "assistant",
        "content": None,
        "refusal": "No.",
        "annotations": [cited],
        "audio": {"id": "a1", "data": "AA==", "expires_at": 1, "transcript": "No."},
    }
    (message,) = WIRE.answer(response(said)).messages
    assert message == said


def test_of_several_choices_the_first_is_the_answer():
    body = response(assistant("b"))
    other = {"index": 1, "message": assistant("c"), "finish_reason": "stop"}
    body["choices"].append(other)
    answer = WIRE.answer(body)
    assert answer.messages == (assistant("b"),)
    assert answer.call["other_choices"] == [other]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": {"message": "too long", "type": "x", "code": "c"}}, "too long"),
        ({"error": "no key"}, "no key"),
        ({"object": "error", "message": "vLLM says no", "code": 400}, "vLLM says no"),
        ({"detail": "Not found"}, "Not found"),
        ({"detail": [{"loc": ["body"]}]}, '[{"loc": ["body"]}]'),
        ({"error": {"code": 5}}, '{"code": 5}'),
    ],
)
def test_an_error_is_a_refusal(body, text):
    answer = WIRE.answer(body)
    assert (answer.refusal, answer.messages) == (text, ())


def test_a_stream_of_text():
    usage = {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10}
    answer = assembled(
        chunk({"role": "assistant", "content": "", "reasoning_content": "H"}),
        chunk({"reasoning_content": "m."}),
        chunk({"content": "He"}),
        chunk({"content": "llo"}),
        chunk(finish_reason="stop"),
        {**chunk(usage=usage), "choices": []},
    )
    assert answer.messages == ({**assistant("Hello"), "reasoning_content": "Hm."},)
    assert answer.call["prompt_tokens"] == 8
    assert answer.call["finish_reason"] == "stop"


def test_parallel_calls_in_pieces():
    whole = [call("c1", "read_log", a=1), call("c2", "read_log", b=2)]
    pieces = [
        chunk(piece(0, '{"a"', id="c1", type="function", name="read_log")),
        chunk(piece(1, '{"b"', id="c2", type="function", name="read_log")),
        chunk(piece(0, ": 1}")),
        chunk(piece(1, ": 2}")),
    ]
    opening, closing = chunk({"role": "assistant", "content": ""}), chunk(finish_reason="stop")
    assert assembled(opening, *pieces, closing).messages == (calling(*whole),)
    repeated = [
        chunk(piece(0, '{"a"', id="c1", type="function", name="read_log")),
        chunk(piece(0, ": 1}", id="c1", type="function", name="read_log")),
        chunk(piece(0, '{"b": 2}', id="c2", type="function", name="read_log")),
    ]
    assert assembled(opening, *repeated, closing).messages == (calling(*whole),)
    for one in repeated:
        del one["choices"][0]["delta"]["tool_calls"][0]["index"]
    assert assembled(opening, *repeated, closing).messages == (calling(*whole),)


def test_a_deprecated_function_call_in_pieces():
    answer = assembled(
        chunk({"role": "assistant", "content": None}),
        chunk({"function_call": {"name": "read_log", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ": 1}"}}),
        chunk(finish_reason="function_call"),
    )
    (called,) = answer.messages[0]["tool_calls"]
    assert called["function"] == {"name": "read_log", "arguments": '{"a": 1}'}


def test_content_that_comes_as_parts_and_text():
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    start = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": [thought]}}]}
    end = {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}
    said = {"type": "text", "text": "Yes."}
    opaque = {"type": "opaque", "of": "openai-chat/thinking", "data": thought}
    (message,) = assembled(start, end).messages
    assert message["content"] == [opaque, said]
    (message,) = assembled(*({"choices": event["choices"]} for event in (end, start))).messages
    assert message["content"] == [said, opaque]


def test_several_streamed_choices():
    answer = assembled(
        chunk({"role": "assistant", "content": "b"}, index=1),
        chunk({"role": "assistant", "content": "a"}),
        chunk(index=1, finish_reason="stop"),
        chunk(finish_reason="length"),
    )
    assert answer.messages == (assistant("a"),)
    assert answer.call["finish_reason"] == "length"
    assert answer.call["other_choices"][0]["message"] == assistant("b")


def test_a_stream_that_breaks_off():
    opening = chunk({"role": "assistant", "content": "He"})
    for chunks in ([], [opening], [opening, chunk(index=1, finish_reason="stop")]):
        with pytest.raises(ValueError, match="breaks off after"):
            WIRE.assemble(chunks)


def test_an_error_in_a_stream_is_a_refusal():
    answer = assembled(chunk({"role": "assistant", "content": "He"}), {"error": {"message": "x"}})
    assert (answer.refusal, answer.messages) == ("x", ())


@pytest.mark.parametrize(
    "completion",
    [
        Completion("It is very slow."),
        Completion("", tool_calls=(ToolCall("a", '{"x": 1}'), ToolCall("b", "{}"))),
        Completion("Look.", tool_calls=(ToolCall("a", "{}"),)),
    ],
)
def test_a_stream_of_our_server_is_what_it_sends_unstreamed(completion, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1747148049)
    ask = Ask(model="m", messages=(user("a"),), stream=True, include_usage=True)
    answered = Answered(
        ask=ask,
        completion=completion,
        number=1,
        call_ids=tuple(f"c{i}" for i in range(len(completion.tool_calls))),
        prompt_tokens=8,
        completion_tokens=2,
    )
    shape = OpenAIShape()
    stream = shape.stream(ask, number=1, prompt_tokens=8)
    pieces = [p for text in completion.text.split() for p in stream.piece(text + " ")]
    sent = [*stream.opening(), *pieces, *stream.closing(answered)]
    body = WIRE.assemble(sse.events(b"".join(sent).decode()))
    streamed, whole = WIRE.answer(body), WIRE.answer(shape.answer(answered))
    assert (streamed.call, streamed.id) == (whole.call, whole.id)
    (a,), (b,) = streamed.messages, whole.messages
    assert (a["content"] or "").strip() == (b["content"] or "").strip()
    assert {**a, "content": None} == {**b, "content": None}
    failed = [*stream.opening(), *stream.failure(Refusal(503, "the model stopped"))]
    refused = WIRE.assemble(sse.events(b"".join(failed).decode()))
    assert WIRE.answer(refused).refusal == "the model stopped"


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        (None, "`messages` must be a list"),
        ([user("a"), "b"], r"`messages\[1\]` needs a `role`"),
        ([{"role": ["user"], "content": "a"}], r"`messages\[0\]` needs a `role`"),
        ([user(5)], r"`messages\[0\].content` must be text"),
        ([user([{"text": "a"}])], r"`messages\[0\].content\[0\]` needs a `type`"),
        ([user([{"type": "text"}])], r"content\[0\].text` must be text"),
        ([user([{"type": "image_url"}])], r"content\[0\].image_url` needs a `url`"),
        ([calling(5)], r"`messages\[0\].tool_calls\[0\]` must be an object"),
        ([calling({"id": "c"})], r"`messages\[0\].tool_calls\[0\]` needs a `function`"),
        ([calling({"function": {}})], r"tool_calls\[0\].function.name` must be text"),
        ([{**assistant(None), "tool_calls": {}}], r"tool_calls` must be a list"),
        ([{**assistant(None), "function_call": "f"}], "function_call"),
        ([result("a", 5)], r"`messages\[0\].tool_call_id` must be text"),
        ([{"role": "function", "content": "a"}], r"`messages\[0\].name` must be text"),
    ],
)
def test_a_broken_request_is_said(messages, what):
    with pytest.raises(ValueError, match=what):
        WIRE.asked({"messages": messages})


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"model": 5}, "`model` must be text"),
        ({"tools": "a"}, "`tools` must be a list"),
        ({"tools": [{"type": "function"}]}, r"`tools\[0\].name` must be text"),
        ({"tools": [{"function": {}}]}, r"`tools\[0\].function.name` must be text"),
        ({"functions": [{}]}, r"`functions\[0\].function.name` must be text"),
    ],
)
def test_broken_fields_of_a_request_are_said(fields, what):
    with pytest.raises(ValueError, match=what):
        asked(user("a"), **fields)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "neither `choices` nor an `error`"),
        ({"choices": []}, "neither `choices` nor an `error`"),
        ({"choices": [{"text": "a"}]}, r"`choices\[0\].message` must be an object"),
        ({"choices": [{"message": user("a")}]}, "role` must be assistant"),
        ({"choices": [{"message": assistant("a")}], "usage": 5}, "`usage` must be an object"),
        (
            {"choices": [{"message": assistant("a")}], "usage": {"prompt_tokens": "5"}},
            "`usage.prompt_tokens` must be a count of tokens",
        ),
    ],
)
def test_a_broken_response_is_said(body, what):
    with pytest.raises(ValueError, match=what):
        WIRE.answer(body)


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ({"ping": 1}, "event 1 of the stream is no chunk"),
        ({"choices": [5]}, r"`choices\[0\]` must be an object"),
        ({"choices": [{"index": "0"}]}, "event 1 of the stream: `index` must be a number"),
        ({"choices": [{"delta": 5}]}, "event 1 of the stream: `delta` must be an object"),
        ({"choices": [{"delta": {"tool_calls": [{"index": "a"}]}}]}, "`index` must be a number"),
        ({"choices": [{"delta": {"tool_calls": [{"function": 5}]}}]}, "`function` must be an obj"),
    ],
)
def test_a_broken_chunk_is_said(event, what):
    with pytest.raises(ValueError, match=what):
        WIRE.assemble([event])


def test_what_it_takes():
    body = {"messages": [user("a")]}
    assert WIRE.takes("/v1/chat/completions", {})
    assert WIRE.takes("/openai/deployments/x/chat/completions?api-version=1", {})
    assert WIRE.takes("", body)
    assert not WIRE.takes("/v1/messages", body)
    foreign = [
        {**body, "system": "s"},
        {**body, "tools": [{"name": "a", "input_schema": {}}]},
        {"messages": [user([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}])]},
        {"messages": [user([{"text": "Bedrock's parts have no type"}])]},
        {"messages": []},
        {"messages": "a"},
        {"input": "a"},
    ]
    assert not any(WIRE.takes("", other) for other in foreign)


def test_bodies_are_json_again():
    request = asked(user(["a", {"type": "x"}]), calling(call()), tools=[tool()])
    assert json.loads(json.dumps(request.messages)) == list(request.messages)
