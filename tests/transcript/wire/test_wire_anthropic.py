"""Anthropic's Messages: requests as the real client writes them, answers as it reads them."""

import json

import anthropic
import httpx2
import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.server.anthropic_out import AnthropicShape
from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.server.refusals import Refusal
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.shape import is_tool, wrong_with_message
from pytest_ctxguard.transcript.wire import sse
from pytest_ctxguard.transcript.wire.anthropic import WIRE
from tests.factories import assistant, call, calling, result, user

GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
MARK = {"cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5j"}
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
SUMMARY = {"type": "compaction", "content": "The user is 4417.", "encrypted_content": None}


def text(value, **marks):
    return {"type": "text", "text": value, **marks}


def use(call_id="c1", name="read_log", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def response(*blocks, usage=None, **fields):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": list(blocks),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 10, "output_tokens": 5},
        **fields,
    }


def events(body, *, size=7):
    """Cut an answer into the events that it is streamed in."""
    begun = {**body, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**begun, "usage": {"input_tokens": 10}}}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        start, deltas = _cut(block, size)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": body["usage"]}
    yield {"type": "message_stop"}


def _cut(block, size):
    def pieces(value):
        return [value[i : i + size] for i in range(0, len(value), size)]

    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        cited = [{"type": "citations_delta", "citation": c} for c in block.get("citations") or ()]
        return {"type": "text", "text": ""}, [*deltas, *cited]
    if block["type"] in ("tool_use", "server_tool_use"):
        written = json.dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in ("", *pieces(written))]
        return {**block, "input": {}}, deltas
    if block["type"] == "thinking":
        thoughts = pieces(block["thinking"])
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
    if block["type"] == "compaction":
        delta = {"type": "compaction_delta", "content": block["content"]}
        return {"type": "compaction", "content": None}, [delta]
    return block, []


class Provider:
    """Gives fixed answers to the real client, and keeps what it was asked."""

    def __init__(self, *bodies):
        self.asked, self._bodies = [], list(bodies)
        transport = httpx2.MockTransport(self._answer)
        self.client = anthropic.Anthropic(
            api_key="any", max_retries=0, http_client=httpx2.Client(transport=transport)
        )

    def _answer(self, request):
        asked = json.loads(request.content)
        self.asked.append(asked)
        assert WIRE.takes(request.url.path, asked)
        body = self._bodies.pop(0)
        if not asked.get("stream"):
            return httpx2.Response(200, json=body)
        lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events(body))
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, text="".join(lines), headers=headers)


ANSWERS = {
    "text": response(text("Slow.")),
    "parallel": response(
        THOUGHT, HIDDEN, text("I look."), use("c1", service="ü"), use("c2"), stop_reason="tool_use"
    ),
    "calls alone": response(use("c1", service="api"), stop_reason="tool_use"),
    "server tools": response(text("a"), SEARCH, FOUND, text("b")),
    "compaction": response(SUMMARY, text("Going on.")),
    "cited": response(
        text(
            "It is slow.",
            citations=[
                {
                    "type": "char_location",
                    "cited_text": "slow",
                    "document_index": 0,
                    "document_title": None,
                    "start_char_index": 0,
                    "end_char_index": 4,
                    "file_id": None,
                }
            ],
        )
    ),
}


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_answer_is_what_the_client_sends_back(body, stream):
    provider = Provider(body, response(text("Done.")))
    ask = provider.client.beta.messages
    fields = {"model": "claude", "max_tokens": 99}
    messages = [{"role": "user", "content": "Why?"}]
    if stream:
        with ask.stream(**fields, messages=messages) as it:
            message = it.get_final_message()
    else:
        message = ask.create(**fields, messages=messages)
    messages += [
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": "?"},
    ]
    ask.create(**fields, messages=messages)
    [answered] = WIRE.answer(WIRE.assemble(list(events(body))) if stream else body).messages
    assert WIRE.asked(provider.asked[1]).messages == (user("Why?"), answered, user("?"))
    assert wrong_with_message(answered) is None


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_is_put_together_to_the_answer_it_was_cut_from(body, size):
    whole = WIRE.assemble(list(events(body, size=size)))
    assert WIRE.answer(whole) == WIRE.answer(body)


def test_an_answer_with_parallel_calls_and_thoughts():
    answer = WIRE.answer(ANSWERS["parallel"])
    first = {**call("c1"), "function": {"name": "read_log", "arguments": '{"service": "ü"}'}}
    assert answer.messages == (
        {
            **calling(first, call("c2"), content="I look."),
            "thinking_blocks": [THOUGHT, HIDDEN],
            "reasoning_content": "Look first.",
        },
    )
    assert (answer.id, answer.compacted) == ("msg_1", None)


def test_usage_counts_all_of_the_input():
    usage = {
        "input_tokens": 7,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 200,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 30},
        "service_tier": "standard",
        "iterations": [{"type": "message", "input_tokens": 7}],
    }
    assert WIRE.answer(response(text("a"), usage=usage)).call == {
        "model": "claude-sonnet-4-5",
        "prompt_tokens": 1207,
        "cached_tokens": 1000,
        "cache_written_tokens": 200,
        "cache_creation": usage["cache_creation"],
        "completion_tokens": 50,
        "reasoning_tokens": 30,
        "finish_reason": "end_turn",
        "service_tier": "standard",
    }


def test_what_is_not_known_of_a_call_has_no_key():
    body = {"content": [text("a")], "usage": {"input_tokens": None, "output_tokens": True}}
    assert WIRE.answer(body).call == {}
    assert WIRE.answer(body).id is None


def test_compaction_by_the_server_stands_for_what_was_before():
    iterations = [{"type": "compaction", "input_tokens": 180_000}, {"type": "message"}]
    usage = {"input_tokens": 900, "output_tokens": 9, "iterations": iterations}
    body = response(SUMMARY, text("Going on."), usage=usage)
    answer = WIRE.answer(body)
    assert answer.compacted == (user("The user is 4417."),)
    assert answer.call["iterations"] == iterations
    [kept, going_on] = answer.messages[0]["content"]
    data = {"type": "compaction", "content": "The user is 4417."}
    assert kept == {"type": "opaque", "of": "anthropic/compaction", "data": data}
    assert going_on == text("Going on.")


def test_a_compaction_that_failed_changes_nothing():
    failed = {"type": "compaction", "content": None}
    assert WIRE.answer(response(failed, text("Going on."))).compacted is None


def test_errors_are_refusals():
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    for answer in (WIRE.answer(body), WIRE.answer(WIRE.assemble([body]))):
        assert (answer.refusal, answer.messages) == ("overloaded_error: Overloaded", ())


def test_an_answer_without_content_is_still_an_answer():
    answer = WIRE.answer(response(stop_reason="refusal"))
    assert (answer.messages, answer.refusal) == ((assistant(""),), None)
    assert answer.call["finish_reason"] == "refusal"


def test_a_request_with_results_images_and_marks():
    body = {
        "model": "claude",
        "max_tokens": 99,
        "temperature": 0.5,
        "stream": True,
        "metadata": {"user_id": "4417"},
        "mcp_servers": [{"type": "url", "name": "m", "authorization_token": "secret-4417"}],
        "system": [text("Run payments.", **MARK)],
        "messages": [
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": [use("c1"), {**use("c2"), **MARK}]},
            {
                "role": "user",
                "content": [
                    text("And now?"),
                    {"type": "tool_result", "tool_use_id": "c1", "content": "31 %"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [
                            text("a picture"),
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/gif",
                                    "data": GIF,
                                },
                            },
                        ],
                        "is_error": True,
                        **MARK,
                    },
                    {"type": "tool_result", "tool_use_id": "c3", "is_error": False},
                    {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
                ],
            },
        ],
    }
    asked = WIRE.asked(body)
    assert asked.model == "claude"
    assert asked.settings == {
        "max_tokens": 99,
        "temperature": 0.5,
        "mcp_servers": [{"type": "url", "name": "m"}],
    }
    system, question, calls, first, second, third, last = asked.messages
    assert system == {"role": "system", "content": [text("Run payments.", **MARK)]}
    assert question == user("Why?")
    assert calls == calling(call("c1"), {**call("c2"), **MARK})
    assert first == result("31 %", "c1")
    picture = {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{GIF}"}}
    size = {"bytes": 42, "width": 1, "height": 1}
    content = [text("a picture"), {**picture, "size": size}]
    assert second == {**result(content, "c2"), "is_error": True, **MARK}
    assert third == result("", "c3")
    url = {"type": "image_url", "image_url": {"url": "https://a/b.png"}}
    assert last == user([text("And now?"), url])
    assert pair(asked.messages).orphans == (5,)


def test_documents_are_files_or_text():
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    plain = {"type": "text", "media_type": "text/plain", "data": "The shard is 7."}
    url = {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}, **MARK}
    content = [
        {"type": "document", "source": pdf, "title": "a.pdf", "context": "c", **MARK},
        {"type": "document", "source": {"type": "file", "file_id": "f1"}},
        {"type": "document", "source": plain, "title": "t"},
        url,
    ]
    [message] = WIRE.asked({"messages": [{"role": "user", "content": content}]}).messages
    data = "data:application/pdf;base64,JVBERg=="
    opened, by_id, read, opaque = message["content"]
    named = {"file_data": data, "filename": "a.pdf"}
    assert opened == {"type": "file", "file": named, "document": {"context": "c"}, **MARK}
    assert by_id == {"type": "file", "file": {"file_id": "f1"}}
    about = {"title": "t", "source": {"type": "text", "media_type": "text/plain"}}
    assert read == {**text("The shard is 7."), "document": about}
    whole = {key: value for key, value in url.items() if key != "cache_control"}
    assert opaque == {"type": "opaque", "of": "anthropic/document", "data": whole, **MARK}


def test_tool_definitions():
    schema = {"type": "object", "properties": {"service": {"type": "string"}}}
    bash = {"type": "bash_20250124", "name": "bash"}
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3, **MARK}
    servers = {"type": "mcp_toolset", "mcp_server_name": "crm"}
    own = {
        "name": "read_log",
        "type": "custom",
        "description": "Read a log.",
        "input_schema": schema,
        "strict": True,
        "defer_loading": True,
        **MARK,
    }
    tools = WIRE.asked({"messages": [], "tools": [own, bash, search, servers]}).tools
    function = {
        "name": "read_log",
        "description": "Read a log.",
        "parameters": schema,
        "strict": True,
    }
    assert tools[0] == {"type": "function", "function": function, "defer_loading": True, **MARK}
    assert [t["function"]["name"] for t in tools] == ["read_log", "bash", "web_search", "crm"]
    without = {key: value for key, value in search.items() if key != "cache_control"}
    assert tools[2]["anthropic"] == without
    assert tools[2]["cache_control"] == MARK["cache_control"]
    assert all(map(is_tool, tools))


@pytest.mark.parametrize(
    ("path", "body", "taken"),
    [
        ("/v1/messages", {"messages": []}, True),
        ("/anthropic/v1/messages?beta=true", {"messages": []}, True),
        ("/v1/messages/count_tokens", {"messages": [], "system": "a"}, False),
        ("/v1/threads/t1/messages", {"role": "user", "content": "a"}, False),
        ("/v1/chat/completions", {"messages": [], "system": "a"}, False),
        ("/model/a/invoke", {"messages": [], "anthropic_version": "b"}, False),
        ("/v1/publishers/a/models/c:rawPredict", {"messages": [], "anthropic_version": "v"}, True),
        ("/v1/models/c:generateContent", {"messages": [], "system": "a"}, False),
        ("", {"messages": [user("a")]}, False),
        ("", {"messages": [user("a")], "system": "b"}, True),
        ("", {"messages": [user("a")], "tools": [{"input_schema": {}}]}, True),
        ("", {"messages": [user([{"type": "tool_result"}])]}, True),
        ("", {"messages": [user([text("a", **MARK)])]}, False),
        ("", {"messages": ["a", 1, {"content": [1]}], "tools": 1}, False),
        ("", {"messages": [user([{"text": "a"}])], "system": [{"text": "b"}]}, False),
    ],
)
def test_what_is_taken(path, body, taken):
    assert WIRE.takes(path, body) is taken


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "`messages` is missing"),
        ({"messages": {}}, "`messages` must be a list, not an object"),
        ({"messages": [1]}, r"`messages\[0\]` must be an object, not a number"),
        ({"messages": [{"content": "a"}]}, r"`messages\[0\].role` is missing"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "'tool'; it must be one of user"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\].content` must be text or a list"),
        ({"messages": [user([{}])]}, r"content\[0\].type` is missing"),
        ({"messages": [user([{"type": "text"}])]}, r"content\[0\].text` is missing"),
        ({"messages": [user([{"type": "tool_result"}])]}, "tool_use_id` is missing"),
        ({"messages": [assistant([{"type": "tool_use", "id": "a"}])]}, "input` is missing"),
        ({"messages": [assistant([{**use(), "name": True}])]}, "name` must be text, not true"),
        ({"messages": [], "tools": [{}]}, "no tool definition"),
        ({"messages": [], "tools": [{"name": "a", "input_schema": []}]}, "must be an object"),
        ({"messages": [], "system": 5}, "`system` must be a list, not a number"),
        (
            {"messages": [user([{"type": "image", "source": {"type": "base64"}}])]},
            "source.media_type` is missing",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_said(body, what):
    with pytest.raises(ValueError, match=what):
        WIRE.asked(body)


def test_a_body_that_is_no_answer():
    with pytest.raises(ValueError, match="`content` is missing"):
        WIRE.answer({"input_tokens": 14})


WHOLE = list(events(ANSWERS["parallel"]))


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_stream_that_breaks_off_is_no_answer(length):
    with pytest.raises(ValueError, match="breaks off after"):
        WIRE.assemble(WHOLE[:length])


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ({"type": "surprise"}, "unknown type, 'surprise'"),
        ({"type": "content_block_delta", "index": 9, "delta": {}}, "block 9, which has not begun"),
        ({"type": "content_block_start", "index": 0, "content_block": {}}, "block 0 once more"),
        ({"type": "content_block_start", "content_block": {}}, "`index` must be a whole number"),
        ({"type": "content_block_delta", "index": 0, "delta": {"type": "x"}}, "type, 'x'"),
        ({"type": "content_block_delta", "index": 0, "delta": {"type": []}}, "not a list"),
        ({"type": "message_delta"}, "delta` is missing"),
    ],
)
def test_a_stream_with_an_event_that_does_not_fit(event, what):
    with pytest.raises(ValueError, match=what):
        WIRE.assemble([*WHOLE[:4], event, *WHOLE[4:]])


@pytest.mark.parametrize("start", [1, -1])
def test_a_stream_that_begins_in_the_middle(start):
    with pytest.raises(ValueError, match="before message_start"):
        WIRE.assemble(WHOLE[start:])


def test_a_fallback_names_the_model_that_answered():
    block = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {}}
    answer = WIRE.answer(WIRE.assemble(list(events(response(block, text("Slow."))))))
    assert answer.call["model"] == "b"
    assert answer.messages[0]["content"][0]["of"] == "anthropic/fallback"


def test_thoughts_without_a_word_have_no_reasoning():
    [message] = WIRE.answer(response({**THOUGHT, "thinking": ""}, text("Slow."))).messages
    assert message == {**assistant("Slow."), "thinking_blocks": [{**THOUGHT, "thinking": ""}]}


def test_arguments_cut_off_at_the_length_limit_are_kept_as_they_came():
    stream = list(events(response(use("c1", service="payments"), stop_reason="max_tokens")))
    del stream[6:8]  # the last pieces of the input
    [message] = WIRE.answer(WIRE.assemble(stream)).messages
    arguments = message["tool_calls"][0]["function"]["arguments"]
    assert arguments == '{"service": "p'


@pytest.mark.parametrize(
    "completion",
    [
        Completion("It is slow.", cached_tokens=24, completion_tokens=2),
        Completion("", tool_calls=(ToolCall("f", "[1]"),), finish_reason="tool_calls"),
        Completion(
            "I look.",
            tool_calls=(ToolCall("f", '{"a": "ü"}'), ToolCall("g", "{}")),
            finish_reason="tool_calls",
        ),
        Completion("x", stopped_by="END"),
    ],
    ids=["text", "a call", "text and calls", "stop"],
)
def test_a_stream_of_our_server_is_what_it_sends_unstreamed(completion):
    ask = Ask(model="m", messages=(user("a"),), stream=True)
    answered = Answered(
        ask=ask,
        completion=completion,
        number=1,
        call_ids=tuple(f"c{i}" for i in range(len(completion.tool_calls))),
        prompt_tokens=31,
        completion_tokens=2,
    )
    shape = AnthropicShape()
    stream = shape.stream(ask, number=1, prompt_tokens=31)
    opening = list(stream.opening())
    pieces = [
        p
        for i in range(0, len(completion.text), 3)
        for p in stream.piece(completion.text[i : i + 3])
    ]
    sent = b"".join([*opening, *pieces, *stream.closing(answered)])
    body = WIRE.assemble(sse.events(sent.decode()))
    assert body == shape.answer(answered)
    failed = b"".join([*opening, *stream.failure(Refusal(503, "the model stopped"))])
    refused = WIRE.answer(WIRE.assemble(sse.events(failed.decode())))
    assert refused.refusal == "api_error: the model stopped"
