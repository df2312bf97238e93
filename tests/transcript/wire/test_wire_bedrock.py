"""Bedrock: what the real client recorded, its event streams, and what it writes besides."""

import base64
import json
import struct
import zlib
from pathlib import Path

import pytest

from fixtures.cassettes import gemini_bedrock_stand_in as stand_in
from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.cassette import READER
from pytest_ctxguard.transcript.shape import is_tool, wrong_with_message
from pytest_ctxguard.transcript.wire import anthropic, eventstream
from pytest_ctxguard.transcript.wire.bedrock import WIRE
from tests.factories import assistant, call, calling, result, user

CASSETTES = Path(__file__).parents[3] / "fixtures" / "cassettes"
CLAUDE = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
POINT = {"cachePoint": {"type": "default"}}
MARK = {"cache_control": {"type": "default"}}
STREAM = b"".join(stand_in.event(*event) for event in stand_in.converse_events())


def asked(*messages, **fields):
    return WIRE.asked({"messages": list(messages), **fields})


def use(call_id="c1", name="read_log", **arguments):
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def tool_result(*content, call_id="c1", **fields):
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **fields}}


def response(*blocks, **fields):
    message = {"role": "assistant", "content": list(blocks)}
    return {"output": {"message": message}, "stopReason": "end_turn", **fields}


def test_what_the_real_client_recorded():
    reading = READER.read(open_document(CASSETTES / "bedrock.yaml"))
    session, invoked = reading.runs
    assert reading.notes == ()
    roles = "system user assistant tool tool assistant user assistant"
    assert [m["role"] for m in session.messages] == roles.split()
    assert all(wrong_with_message(m) is None for run in reading.runs for m in run.messages)
    calls = session.messages[2]
    assert calls["content"] == "I look at both services."
    assert calls["reasoning_content"] == "Both."
    assert calls["tool_calls"][1]["function"]["arguments"] == '{"service": "checkout-web"}'
    assert pair(session.messages).answered == {(2, 0): 3, (2, 1): 4}
    good, bad = session.messages[3:5]
    assert "is_error" not in good
    assert bad["is_error"] is True
    assert [part["text"] for part in bad["content"]] == ["p99 180 ms — 接続待ち", '{"tries": 2}']
    [tool] = session.tools
    assert is_tool(tool)
    assert tool["cache_control"] == MARK["cache_control"]
    assert session.recorded[2]["prompt_tokens"] == 260
    assert session.recorded[5]["cached_tokens"] == 300
    assert session.recorded[5]["cache_written_tokens"] == 200
    assert {known["model"] for known in session.recorded.values()} == {CLAUDE}
    assert [m["role"] for m in invoked.messages] == ["system", "user", "assistant"]
    assert invoked.messages[2] == assistant("".join(stand_in.SHARD))


def test_streams_that_the_real_client_read():
    converse, invoked = READER.read(open_document(CASSETTES / "bedrock-streamed.yaml")).runs
    [whole, _] = READER.read(open_document(CASSETTES / "bedrock.yaml")).runs
    assert converse.messages[2] == whole.messages[2]
    unlike = {"exchange"}
    facts = [
        {key: value for key, value in run.recorded[2].items() if key not in unlike}
        for run in (converse, whole)
    ]
    assert facts[0] == facts[1]
    assert invoked.messages[2] == assistant("".join(stand_in.SHARD))
    assert invoked.recorded[2]["completion_tokens"] == 20


def test_cache_points_mark_what_stands_before_them():
    spec = {"toolSpec": {"name": "read_log", "inputSchema": {"json": {"type": "object"}}}}
    read = asked(
        user([{"text": "Why?"}, POINT]),
        assistant([{"text": "I look."}, use("c1"), use("c2"), POINT]),
        user([tool_result({"text": "a"}, call_id="c1"), tool_result(call_id="c2"), POINT]),
        system=[{"text": "Run payments."}, POINT],
        toolConfig={"tools": [spec, {"systemTool": {"name": "nova"}}, POINT]},
    )
    system, question, calls, first, second = read.messages
    assert system == {
        "role": "system",
        "content": [{"type": "text", "text": "Run payments.", **MARK}],
    }
    assert question == user([{"type": "text", "text": "Why?", **MARK}])
    assert calls == calling(call("c1"), {**call("c2"), **MARK}, content="I look.")
    assert (first, second) == (result("a", "c1"), {**result("", "c2"), **MARK})
    own, nova = read.tools
    assert own["function"] == {"name": "read_log", "parameters": {"type": "object"}}
    assert nova["function"] == {"name": "nova"}
    assert (nova["bedrock"], nova["cache_control"]) == (
        {"systemTool": {"name": "nova"}},
        MARK["cache_control"],
    )


def test_a_cache_point_with_nothing_before_it_is_kept():
    [message] = asked(user([POINT, {"text": "a"}])).messages
    assert message["content"][0] == {"type": "opaque", "of": "bedrock/cachePoint", "data": POINT}


def test_results_come_before_the_text_beside_them():
    messages = asked(
        assistant([use()]), user([{"text": "and?"}, tool_result({"json": [1]})])
    ).messages
    assert messages == (calling(call()), result("[1]"), user("and?"))


def test_blocks_with_and_without_a_part_of_openai():
    bytes_ = {"bytes": GIF}
    cited = {"content": [{"text": "It is "}, {"text": "slow."}], "citations": [{"title": "t"}]}
    blocks = [
        {"image": {"format": "gif", "source": bytes_}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://a/b.png"}}}},
        {"document": {"format": "pdf", "name": "a", "source": bytes_}},
        {"document": {"format": "txt", "name": "b", "source": {"text": "shard 7"}}},
        {"audio": {"format": "wav", "source": bytes_}},
        {"guardContent": {"text": {"text": "4417", "qualifiers": ["query"]}}},
        {"citationsContent": cited},
        {"video": {"format": "mp4", "source": bytes_}},
        {"image": {"format": "png", "source": {}}},
        {"document": {"format": "pdf", "name": "c", "source": {"s3Location": {"uri": "s3://c"}}}},
        {"guardContent": {"image": {"format": "png", "source": bytes_}}},
        {"citationsContent": {"citations": []}},
    ]
    [message] = asked(user(blocks)).messages
    gif, far, pdf, txt, audio, guarded, quoted, video, *empty = message["content"]
    assert gif["image_url"]["url"] == f"data:image/gif;base64,{GIF}"
    assert gif["size"] == {"bytes": 42, "width": 1, "height": 1}
    assert far["image_url"]["url"] == "s3://a/b.png"
    named = {"filename": "a", "file_data": f"data:application/pdf;base64,{GIF}"}
    assert pdf == {"type": "file", "file": named}
    about = {"format": "txt", "name": "b"}
    assert txt == {"type": "text", "text": "shard 7", "document": about}
    assert audio["input_audio"] == {"data": GIF, "format": "wav"}
    checked = {"qualifiers": ["query"]}
    assert guarded == {"type": "text", "text": "4417", "guardContent": checked}
    assert quoted == {"type": "text", "text": "It is slow.", "citations": [{"title": "t"}]}
    assert (video["of"], video["data"]) == ("bedrock/video", blocks[7])
    kinds = [
        "bedrock/image",
        "bedrock/document",
        "bedrock/guardContent",
        "bedrock/citationsContent",
    ]
    assert [part["of"] for part in empty] == kinds
    assert [part["data"] for part in empty] == blocks[8:]


def test_thoughts_are_kept_as_recorded():
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    hidden = {"reasoningContent": {"redactedContent": "ZW5j"}}
    [message] = WIRE.answer(response(thought, hidden, {"text": "a"})).messages
    assert message["thinking_blocks"] == [thought, hidden]
    assert (message["content"], message["reasoning_content"]) == ("a", "Hm.")


def test_settings_and_model():
    config = {"tools": [], "toolChoice": {"auto": {}}}
    read = asked(modelId="m", inferenceConfig={"maxTokens": 9}, toolConfig=config)
    assert read.model == "m"
    assert read.settings == {"inferenceConfig": {"maxTokens": 9}, "toolChoice": {"auto": {}}}


def test_usage_counts_all_of_the_input():
    usage = {"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 100}
    assert WIRE.answer(response({"text": "a"}, usage=usage)).call == {
        "prompt_tokens": 105,
        "cached_tokens": 100,
        "completion_tokens": 2,
        "finish_reason": "end_turn",
    }
    assert WIRE.answer(response({"text": "a"})).call == {"finish_reason": "end_turn"}


def test_errors_are_refusals():
    assert WIRE.answer({"message": "Too many requests"}).refusal == "Too many requests"
    typed = {"__type": "ThrottlingException", "Message": "Slow down."}
    assert WIRE.answer(typed).refusal == "ThrottlingException: Slow down."
    headers = {":message-type": "exception", ":exception-type": "throttlingException"}
    begun = stand_in.event("messageStart", {"role": "assistant"})
    data = begun + stand_in.frame(headers, json.dumps({"message": "Slow down."}).encode())
    refused = WIRE.answer(WIRE.assemble(eventstream.events(data)))
    assert (refused.refusal, refused.messages) == ("throttlingException: Slow down.", ())
    headers = {":message-type": "error", ":error-code": "500", ":error-message": "Broken."}
    events = eventstream.events(begun + stand_in.frame(headers, b""))
    assert WIRE.answer(WIRE.assemble(events)).refusal == "500: Broken."


def test_a_stream_is_put_together():
    body = WIRE.assemble(eventstream.events(STREAM))
    content = body["output"]["message"]["content"]
    text = {"text": "Both.", "signature": "bWFkZSB1cA=="}
    assert content[0] == {"reasoningContent": {"reasoningText": text}}
    assert content[1] == {"text": "I look at both services."}
    assert content[2:] == stand_in.converse_calls()
    assert (body["stopReason"], body["usage"]["cacheWriteInputTokens"]) == ("tool_use", 200)


def test_pieces_of_hidden_thoughts_citations_and_broken_arguments():
    delta = "contentBlockDelta"
    start = {"toolUse": {"toolUseId": "c1", "name": "log"}}
    events = [
        {
            delta: {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"redactedContent": "ZQ=="}},
            }
        },
        {delta: {"contentBlockIndex": 1, "delta": {"text": "slow"}}},
        {delta: {"contentBlockIndex": 1, "delta": {"citation": {"title": "t"}}}},
        {"contentBlockStart": {"contentBlockIndex": 2, "start": start}},
        {delta: {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"a": '}}}},
        {"messageStop": {"stopReason": "max_tokens"}},
    ]
    [message] = WIRE.answer(WIRE.assemble(events)).messages
    assert message["thinking_blocks"] == [{"reasoningContent": {"redactedContent": "ZQ=="}}]
    assert message["content"] == [{"type": "text", "text": "slow", "citations": [{"title": "t"}]}]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a": '


EVENTS = eventstream.events(STREAM)


@pytest.mark.parametrize("length", range(len(EVENTS) - 1))  # messageStop is the last but one
def test_a_stream_without_its_end_is_no_answer(length):
    with pytest.raises(ValueError, match=f"breaks off after {length} events"):
        WIRE.assemble(EVENTS[:length])


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ({"surprise": {}}, "unknown type, 'surprise'"),
        ({"contentBlockDelta": {"delta": {"text": "a"}}}, "must be a whole number"),
        ({"contentBlockDelta": {"contentBlockIndex": 9}}, "delta` is missing"),
        ({"contentBlockDelta": {"contentBlockIndex": 9, "delta": {"x": 1}}}, "type, 'x'"),
        ({"contentBlockDelta": {"contentBlockIndex": 9, "delta": {"text": 1}}}, "must be text"),
        ({"contentBlockStart": {"contentBlockIndex": 9, "start": 1}}, "must be an object"),
    ],
)
def test_a_stream_with_an_event_that_does_not_fit(event, what):
    with pytest.raises(ValueError, match=what):
        WIRE.assemble([event, *EVENTS])


@pytest.mark.parametrize("length", [1, 11, 12, 50, -1, -40, -120])
def test_an_event_stream_that_breaks_off_in_a_frame(length):
    with pytest.raises(ValueError, match="breaks off in the frame at byte"):
        eventstream.events(STREAM[:length])


@pytest.mark.parametrize("at", [0, 5, 9, 20, 60, -1])
def test_an_event_stream_with_a_damaged_byte(at):
    damaged = bytearray(STREAM)
    damaged[at] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        eventstream.events(bytes(damaged))


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (stand_in.frame({":event-type": "a"}, b"{"), "has no JSON"),
        (stand_in.frame({":event-type": "a"}, b"[]"), "has no JSON object"),
        (stand_in.event("chunk", {"bytes": "%"}), "the chunk of the frame at byte 0"),
        (b"{'error': 1}" * 3, "begins no frame"),
    ],
)
def test_an_event_stream_with_something_else_in_it(frame, what):
    with pytest.raises(ValueError, match=what):
        eventstream.events(frame)


def framed(head, payload=b"{}"):
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    data = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return data + struct.pack(">I", zlib.crc32(data))


def test_headers_of_other_types_are_passed_over():
    name = b"\x0b:event-type\x07\x00\x01a"
    head = b"\x01t\x00" + b"\x01n\x04\x00\x00\x00\x01" + b"\x01b\x06\x00\x02xy" + name
    assert eventstream.events(framed(head)) == [{"a": {}}]


@pytest.mark.parametrize(
    "head", [b"\x01t\x0c", b"\x09t", b"\x01s\x07\x00\x09a", b"\x01s\x07\x00\x01\xff"]
)
def test_headers_that_are_damaged(head):
    with pytest.raises(ValueError, match="headers of the frame at byte 0 are damaged"):
        eventstream.events(framed(head))


def test_a_model_of_anthropic_is_read_as_such():
    body = {
        "anthropic_version": "bedrock-2023-05-31",
        "messages": [{"role": "user", "content": "a"}],
        "max_tokens": 9,
    }
    assert WIRE.asked(body) == anthropic.WIRE.asked(body)
    assert WIRE.answer(stand_in.message()) == anthropic.WIRE.answer(stand_in.message())
    chunks = [base64.b64encode(json.dumps(e).encode()).decode() for e in stand_in.message_events()]
    data = b"".join(stand_in.event("chunk", {"bytes": chunk}) for chunk in chunks)
    assert WIRE.answer(WIRE.assemble(eventstream.events(data))) == WIRE.answer(stand_in.message())


@pytest.mark.parametrize(
    ("path", "body", "taken"),
    [
        ("/model/a/converse", {"messages": []}, True),
        ("/model/a%3A0/converse-stream", {"messages": []}, True),
        ("/model/a/invoke", {"messages": [], "anthropic_version": "v"}, True),
        ("/model/a/invoke-with-response-stream", {"messages": [], "anthropic_version": "v"}, True),
        ("/model/a/invoke", {"messages": []}, False),
        ("/model/a/converse", {"inputText": "a"}, False),
        ("/v1/messages", {"messages": [user([{"text": "a"}])]}, False),
        ("", {"messages": [user([{"text": "a"}])]}, True),
        ("", {"messages": [], "toolConfig": {}}, True),
        ("", {"messages": [user("a")]}, False),
        ("", {"messages": [user([{"type": "text", "text": "a"}])]}, False),
        ("", {"messages": []}, False),
    ],
)
def test_what_is_taken(path, body, taken):
    assert WIRE.takes(path, body) is taken


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "`messages` is missing"),
        ({"messages": [{"content": []}]}, r"`messages\[0\].role` is missing"),
        ({"messages": [{"role": "tool", "content": []}]}, "'tool'; it must be"),
        ({"messages": [user("a")]}, r"`messages\[0\].content` must be a list, not text"),
        ({"messages": [user([{"text": 1}])]}, r"content\[0\].text` must be text"),
        ({"messages": [user([{"toolResult": 1}])]}, "toolResult` must be an object"),
        ({"messages": [user([{"toolResult": {}}])]}, "toolUseId` is missing"),
        ({"messages": [assistant([{"toolUse": {"toolUseId": "a"}}])]}, "input` is missing"),
        ({"messages": [assistant([{"toolUse": {"input": {}}}])]}, "toolUseId` is missing"),
        ({"messages": [], "system": "a"}, "`system` must be a list"),
        ({"messages": [], "toolConfig": [1]}, "`toolConfig` must be an object"),
        ({"messages": [], "toolConfig": {"tools": [{"toolSpec": {}}]}}, "inputSchema` is missing"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(body, what):
    with pytest.raises(ValueError, match=what):
        WIRE.asked(body)


def test_a_body_that_is_no_answer():
    with pytest.raises(ValueError, match="`output` is missing"):
        WIRE.answer({"usage": {}})
