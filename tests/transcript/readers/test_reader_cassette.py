"""Sessions out of vcrpy cassettes: recordings of the real clients, and every way to be broken."""

import base64
import gzip
import json
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.broken import make_cassettes
from fixtures.cassettes import make
from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document, open_document
from pytest_ctxguard.transcript.messages import content_text, tool_calls
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.cassette import READER

ROOT = Path(__file__).parents[3]
BROKEN, RECORDED = ROOT / "fixtures" / "broken", ROOT / "fixtures" / "cassettes"
SESSIONS = (
    "openai-chat.yaml",
    "openai-chat.json",
    "openai-chat-streamed.yaml",
    "anthropic.yaml",
    "anthropic-streamed.yaml",
    "openai-responses.yaml",
    "openai-responses-streamed.yaml",
)


def recorded(name):
    return READER.read(open_document(RECORDED / name))


def read(*interactions, **more):
    return READER.read(Document("a.yaml", make_cassettes.cassette(*interactions, **more).encode()))


def said(transcript):
    """What was said, in the words that all formats share."""
    names = {}
    for message in transcript.messages:
        calls = []
        for call in tool_calls(message):
            names[call["id"]] = call["function"]["name"]
            arguments = json.loads(call["function"]["arguments"])
            calls.append((call["function"]["name"], arguments))
        answers = names[message["tool_call_id"]] if message["role"] == "tool" else None
        yield message["role"], content_text(message), calls, answers


def script():
    """The same, out of the script that was recorded."""
    answers = iter(make.ANSWERS)
    yield "system", make.SYSTEM, [], None
    for question in make.QUESTIONS:
        yield "user", question, [], None
        calls = True
        while calls:
            answer = next(answers)
            answer = {"text": answer} if isinstance(answer, str) else answer
            calls = [(c["name"], c["arguments"]) for c in answer.get("tool_calls", ())]
            yield "assistant", answer.get("text", ""), calls, None
            for name, arguments in calls:
                yield "tool", make.RESULTS[json.dumps(arguments)], [], name


@pytest.mark.parametrize("name", SESSIONS)
def test_a_recording_of_a_real_client_is_one_session_as_it_was(name):
    reading = recorded(name)
    (run,) = reading.runs
    assert (reading.format, run.name, reading.notes) == ("vcrpy", Path(name).stem, ())
    assert list(said(run)) == list(script())
    assert [tool["function"]["name"] for tool in run.tools] == list(make.TOOLS)
    assert (len(run.calls), len(run.turns), len(run.tool_rounds)) == (4, 2, 2)
    paired = pair(run.messages)
    assert (len(paired.answered), paired.unanswered, paired.orphans) == (3, (), ())


@pytest.mark.parametrize("name", SESSIONS)
def test_what_is_known_of_each_call(name):
    """The usage of our server is of exact counts, so prompts must grow; the model is as asked."""
    (run,) = recorded(name).runs
    known = [call.recorded for call in run.calls]
    assert [k["exchange"] for k in known] == [1, 2, 3, 4]
    tokens = [k["prompt_tokens"] for k in known]
    assert tokens == sorted(set(tokens))
    assert tokens[0] >= 100
    assert all(k["completion_tokens"] > 0 for k in known)
    assert all(
        k["model"].startswith(("gpt-4.1-mini", "claude-sonnet-5", "gpt-5-mini")) for k in known
    )
    assert all(k["time"].startswith("2025-12-01T09:0") for k in known)
    assert [k["time"] for k in known] == sorted(k["time"] for k in known)


@pytest.mark.parametrize(
    ("name", "passed_over"),
    [
        ("openai-chat.yaml", {"GET /v1/models": 1}),
        ("anthropic.yaml", {"POST /v1/messages/count_tokens": 2}),
        ("openai-responses.yaml", {}),
    ],
)
def test_requests_that_are_no_chat_are_counted(name, passed_over):
    assert recorded(name).passed_over == passed_over


def test_refused_requests_are_noted_and_no_answers():
    reading = recorded("openai-refused.yaml")
    (run,) = reading.runs
    assert [m["role"] for m in run.messages] == ["user", "assistant", "user"]
    first, second = [note.what for note in reading.notes]
    assert first.startswith("exchange 1 was refused: 429 ")
    assert second.startswith("exchange 3 was refused: 400 ")
    assert "maximum context length is 200 tokens" in second
    assert [note.line for note in reading.notes] == [2, max(n.line for n in reading.notes)]


def test_a_cache_mark_stays_on_its_part():
    (run,) = recorded("anthropic.yaml").runs
    assert run.messages[0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_reasoning_that_was_sent_back_stays_with_its_answer():
    (run,) = recorded("openai-responses-streamed.yaml").runs
    ids = [m["reasoning_items"][0]["id"] for m in run.messages if m["role"] == "assistant"]
    assert ids == ["rs_1", "rs_2", "rs_3", "rs_4"]


ASKED = {"model": "m", "messages": [{"role": "user", "content": "Which shard?"}]}
JSON = "{content-type: [application/json]}"


def text_of(reading):
    return [content_text(run.messages[-1]) for run in reading.runs]


def one(path, asked, answered, *, host="https://a.example", headers=JSON, status=200):
    body = answered if isinstance(answered, str) else f"'{json.dumps(answered)}'"
    return make_cassettes.interaction(
        uri=f"{host}{path}",
        request=f"body: '{json.dumps(asked)}'",
        body=body,
        headers=headers,
        status=f"{{code: {status}}}",
    )


GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Which shard?"}]}]}


def gemini_chunk(text, **more):
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, **more}]}


def test_a_stream_of_gemini_that_is_a_json_array():
    chunks = [gemini_chunk("pay-"), gemini_chunk("shard-7", finishReason="STOP")]
    path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
    reading = read(one(path, GEMINI, chunks))
    assert text_of(reading) == ["pay-shard-7"]
    assert reading.runs[0].calls[0].recorded["model"] == "gemini-2.5-flash"


def frame(kind, payload):
    name = b":event-type"
    headers = struct.pack("B", len(name)) + name + struct.pack(">BH", 7, len(kind)) + kind.encode()
    data = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + data
    return whole + struct.pack(">I", zlib.crc32(whole))


def test_an_event_stream_of_bedrock():
    frames = [
        frame("messageStart", {"role": "assistant"}),
        frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "pay-shard-7"}}),
        frame("contentBlockStop", {"contentBlockIndex": 0}),
        frame("messageStop", {"stopReason": "end_turn"}),
    ]
    asked = {"messages": [{"role": "user", "content": [{"text": "Which shard?"}]}]}
    path = "/model/us.amazon.nova-lite-v1%3A0/converse-stream"
    kind = "{content-type: [application/vnd.amazon.eventstream]}"
    reading = read(one(path, asked, make_cassettes.binary(b"".join(frames)), headers=kind))
    assert text_of(reading) == ["pay-shard-7"]
    assert reading.runs[0].calls[0].recorded["model"] == "us.amazon.nova-lite-v1:0"
    refused = read(one(path, asked, make_cassettes.binary(b"no\xff"), headers=kind, status=503))
    assert [note.what for note in refused.notes] == ["exchange 1 was refused: 503 no\ufffd"]
    cut = one(path, asked, make_cassettes.binary(b"".join(frames)[:-5]), headers=kind)
    with pytest.raises(TranscriptError, match=r"^a.yaml:2: interaction 1: the response: the event"):
        read(cut)


ANTHROPIC = {**ASKED, "max_tokens": 9}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "pay-shard-7"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 3},
}


@pytest.mark.parametrize(
    ("headers", "more", "time"),
    [
        ("{date: ['Mon, 01 Dec 2025 09:00:00 GMT']}", "", "2025-12-01T09:00:00+00:00"),
        ("{Date: ['Mon, 01 Dec 2025 10:00:00 +0100']}", "", "2025-12-01T09:00:00+00:00"),
        ("{date: [SCRUBBED]}", "", None),
        ("{}", "", None),
        ("{}", "  recorded_at: 2025-12-01T09:00:01Z\n", "2025-12-01T09:00:01Z"),
    ],
)
def test_the_time_of_a_call_that_its_body_does_not_say(headers, more, time):
    reading = read(one("/v1/messages", ANTHROPIC, SAID, headers=headers) + more)
    assert reading.runs[0].calls[0].recorded.get("time") == time


@pytest.mark.parametrize(
    ("status", "body", "refusal"),
    [
        (502, "<html>bad gateway</html>", "502 <html>bad gateway</html>"),
        (500, '\'{"detail": "no"}\'', "500 no"),
        (500, '\'{"reason": "no"}\'', '500 {"reason": "no"}'),
        (429, "''", "429"),
        (400, "'[1]'", "400 [1]"),
        (503, "x" * 999, f"503 {'x' * 200}"),
        (401, '\'{"error": {"message": "Incorrect key"}}\'', "401 "),
    ],
)
def test_a_refusal_is_noted_with_its_text(status, body, refusal):
    reading = read(one("/v1/chat/completions", ASKED, body, status=status))
    (note,) = reading.notes
    assert note.what.startswith(f"exchange 1 was refused: {refusal}")
    assert len(note.what) < 300
    assert [m["role"] for m in reading.runs[0].messages] == ["user"]


def test_other_traffic_is_passed_over_whatever_its_body():
    odd = make_cassettes.interaction
    good = odd()
    reading = read(
        odd(uri="https://a/upload?key=k", request="body: !!binary /w=="),
        odd(uri="https://a/v1/threads/t/messages", request='body: \'{"content": "x"}\''),
        odd(uri="https://a/v1/embeddings", request='body: \'{"input": "x"}\''),
        odd(
            uri="https://a/v1/embeddings", request='body: \'{"input": "y"}\'', body="!!binary /w=="
        ),
        odd(method="get", uri="https://a"),
        good + "  took: 3\n",
        end="metadata: {by: us}\nversion: 1\n",
    )
    assert reading.passed_over == {
        "cassette field metadata": 1,
        "POST /upload": 1,
        "POST /v1/threads/t/messages": 1,
        "POST /v1/embeddings": 2,
        "GET /": 1,
        "interaction field took": 1,
    }
    assert text_of(reading) == ["pay-shard-7"]


def test_a_body_that_is_nested_too_deep():
    deep = make_cassettes.interaction(request=f"body: '{'[' * 200_000}'")
    with pytest.raises(TranscriptError, match=r"a.yaml:2: .*: its body is nested too deep"):
        read(deep)


def test_a_bomb_is_an_error_with_its_line():
    bomb = base64.b64encode(gzip.compress(bytes(65 * 2**20), mtime=0)).decode()
    second = make_cassettes.interaction(body=f"!!binary {bomb}")
    with pytest.raises(TranscriptError) as caught:
        read(make_cassettes.ONE, second)
    assert str(caught.value) == (
        "a.yaml:11: interaction 2: the response: its body has more than 64 MiB when decompressed"
        f"{AGAIN}"
    )


FIRST = ":2: interaction 1: the request to /v1/chat/completions: "
ANSWER = ":2: interaction 1: the response: "
AGAIN = ". Mend it, or record it again."
MESSAGES = {
    "no-interactions": ": no request to a chat model in this cassette; it holds no requests at "
    "all. Name the cassette of a test that asks a model.",
    "interactions-an-object": ": a cassette needs a list `interactions`. Record it again.",
    "before-1.0": ":1: a cassette from before vcrpy 1.0, which had no version. Record it again.",
    "version-newer": ": cassette version 2 is not supported; this release reads 1. Upgrade "
    "pytest-ctxguard, or record the cassette again.",
    "version-missing": ":19: no `version`, with which vcrpy ends a cassette: the file may be "
    "truncated. Restore it, or record it again; if it is whole, add `version: 1`.",
    "cut-in-a-text": ":17: not YAML (while scanning a quoted scalar: found unexpected end of "
    "stream). The file may be truncated.",
    "cut-between-lines": ":15: no `version`, with which vcrpy ends a cassette: the file may be "
    "truncated. Restore it, or record it again; if it is whole, add `version: 1`.",
    "not-yaml": ":14: not YAML (while parsing a flow sequence: did not find expected ',' or "
    f"']'){AGAIN}",
    "not-utf8": ":8: not UTF-8. Save the file as UTF-8.",
    "control-character": ":8: not YAML (control characters are not allowed). Mend or remove it.",
    "half-a-surrogate-pair": ":8: not YAML (while parsing a quoted scalar: found invalid Unicode "
    f"character escape code){AGAIN}",
    "two-documents": f":12: a second YAML document; a cassette is one{AGAIN}",
    "nested-too-deep": f":11: nested deeper than 200 levels{AGAIN}",
    "python-object": ":8: tag '!!python/object/apply:os.getcwd' is not read: it could stand for "
    "any Python object. Leave the tag out, or record the cassette again.",
    "python-name": ":8: tag '!!python/name:os.system' is not read: it could stand for any Python "
    "object. Leave the tag out, or record the cassette again.",
    "set": ":8: tag '!!set' is not read: it could stand for any Python object. Leave the tag out, "
    "or record the cassette again.",
    "bytes-io-without-bytes": ":8: tag '!!python/object/new:_io.BytesIO' without the bytes it is "
    f"to hold{AGAIN}",
    "iterator-without-pieces": ":8: tag '!!python/object/apply:builtins.iter' without the bytes "
    f"it is to hold{AGAIN}",
    "not-base64": f":8: not binary: 'a'{AGAIN}",
    "not-a-number": f":10: not int: 'twohundred'{AGAIN}",
    "key-twice": ":7: a second 'method' in one mapping. Remove one.",
    "key-a-list": f":11: a key that is a list or mapping; a key is text{AGAIN}",
    "key-an-alias": f":12: a key that is an alias; a key is text{AGAIN}",
    "merge-key": ":10: merge keys (`<<`) are not read. Write the keys out.",
    "alias-bomb": f":15: aliases expand the file to more than 10 times its size{AGAIN}",
    "alias-of-itself": ":11: alias 'm' stands for nothing before it, or for what it is part "
    f"of{AGAIN}",
    "item-a-text": ":11: interaction 2 has no `request`. The file may be truncated or edited; "
    "record it again.",
    "request-missing": ":11: interaction 2 has no `request`. The file may be truncated or "
    "edited; record it again.",
    "method-a-number": ":2: interaction 1 needs the texts `request.method` and "
    f"`request.uri`{AGAIN}",
    "uri-broken": f":2: interaction 1: Invalid IPv6 URL{AGAIN}",
    "status-missing": f":2: interaction 1 needs the number `response.status.code`{AGAIN}",
    "headers-a-list": f":2: interaction 1: `headers` must map names to values{AGAIN}",
    "request-not-json": ":11: interaction 2: the request to /v1/chat/completions: its body is "
    f"not JSON (Expecting value: line 1 column 1 (char 0)){AGAIN}",
    "request-a-list": f"{FIRST}its body is in no format that is read{AGAIN}",
    "request-without-body": f"{FIRST}its body is in no format that is read{AGAIN}",
    "body-a-number": f"{FIRST}its body is int, not text or bytes{AGAIN}",
    "body-unknown": f"{FIRST}its body has neither `string` nor `base64_string`: text{AGAIN}",
    "base64-string-broken": f"{FIRST}its body is not base64 (Invalid base64-encoded string: "
    f"number of data characters (1) cannot be 1 more than a multiple of 4){AGAIN}",
    "response-empty": f"{ANSWER}it has no body{AGAIN}",
    "response-not-json": f"{ANSWER}its body is not JSON (Expecting value: line 1 column 1 (char "
    f"0)){AGAIN}",
    "response-a-number": f"{ANSWER}its body must be a JSON object{AGAIN}",
    "response-an-empty-list": f"{ANSWER}its stream has no events, or one that is no object{AGAIN}",
    "stream-cut-in-an-event": f"{ANSWER}event 2 of the stream is not JSON (Unterminated string "
    f"starting at: line 1 column 119 (char 118)); the stream may have broken off{AGAIN}",
    "stream-cut-between-events": f"{ANSWER}the stream breaks off after 1 events, before a "
    f"`finish_reason`{AGAIN}",
    "gzip-cut": f"{ANSWER}its compressed body is cut off{AGAIN}",
    "gzip-damaged": f"{ANSWER}its compressed body is damaged{AGAIN}",
    "encoding-unknown": f"{ANSWER}its body has the content encoding 'pack200', which is not "
    f"known{AGAIN}",
    "charset-unknown": f"{ANSWER}its body is not text in klingon (unknown encoding: "
    f"klingon){AGAIN}",
    "charset-wrong": f"{ANSWER}its body is not text in utf-8 ('utf-8' codec can't decode byte "
    f"0xff in position 7: invalid start byte){AGAIN}",
    "no-chat": ": no request to a chat model in this cassette; it holds 2 x POST /v1/embeddings, "
    "1 x GET /v1/models. Name the cassette of a test that asks a model.",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_broken_cassette_says_where_and_what(name):
    path = BROKEN / f"{name}.cassette.yaml"
    document = open_document(path)
    assert READER.recognises(document)
    with pytest.raises(TranscriptError) as caught:
        READER.read(document)
    assert str(caught.value) == f"{path}{MESSAGES[name]}"


def test_every_broken_cassette_has_its_message():
    ending = ".cassette.yaml"
    found = {path.name.removesuffix(ending) for path in BROKEN.glob(f"*{ending}")}
    assert found == set(MESSAGES)


def test_what_is_wrong_is_the_only_thing_wrong():
    """The good cassette they are made from is read, so each error is about its own mistake."""
    reading = READER.read(Document("good.yaml", make_cassettes.GOOD.encode()))
    assert text_of(reading) == ["pay-shard-7"]
    assert (reading.passed_over, reading.notes) == ({}, ())


@pytest.mark.parametrize("name", ["anthropic.yaml", "openai-responses-streamed.yaml"])
def test_a_cassette_that_was_cut_is_never_read(name):
    """At every 40th byte, and at every line near the end."""
    data = (RECORDED / name).read_bytes().rstrip()
    ends = {*range(60, len(data), max(40, len(data) // 200)), *range(len(data) - 60, len(data))}
    for end in sorted(ends):
        document = Document("cut.yaml", data[:end])
        assert READER.recognises(document)
        with pytest.raises(TranscriptError):
            READER.read(document)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_damaged_recording_is_read_or_an_error_of_ours(data):
    name = data.draw(st.sampled_from(SESSIONS))
    whole = (RECORDED / name).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    put = data.draw(
        st.sampled_from([b"", b"{", b"}", b"null", b"7", b'"', b"\n", b"[]", b"x", b":"])
    )
    width = data.draw(st.integers(0, 30))
    try:
        reading = READER.read(Document(name, whole[:at] + put + whole[at + width :]))
    except TranscriptError:
        return
    assert all(run.messages for run in reading.runs)
