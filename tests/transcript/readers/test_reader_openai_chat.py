"""Files of chat-completions traffic, Responses traffic, and plain message lists."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers import openai_chat, openai_responses
from tests.factories import assistant, call, calling, result, system, tool, user

ROUND = (calling(call()), result("ok"))
FIRST = {"model": "m", "messages": [system(), user("a")], "tools": [tool()], "temperature": 0}
SECOND = {**FIRST, "messages": [system(), user("a"), *ROUND]}
CHUNKS = [
    {"id": "r", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "b"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]


def response(message, **fields):
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields}


def as_json(value, indent=None):
    return Document("logs/agent.json", json.dumps(value, indent=indent).encode())


def as_lines(*rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return Document("logs/agent.jsonl", text.encode())


def read(document, reader=openai_chat):
    assert reader.READER.recognises(document)
    return reader.READER.read(document)


MESSAGES = (system(), user("a"), *ROUND, assistant("b"))


@pytest.mark.parametrize(
    "document",
    [
        as_json(MESSAGES),
        as_json(MESSAGES, indent=1),
        as_json({"messages": MESSAGES}, indent=1),
        as_json({"messages": MESSAGES}),
        as_json([{"messages": MESSAGES}]),
        as_json({"request": {"messages": MESSAGES}, "response": None}),
        as_lines(*MESSAGES),
        as_lines({"messages": MESSAGES}),
        Document("a.jsonl", b"\xef\xbb\xbf" + as_lines(*MESSAGES).data),
    ],
)
def test_messages_in_any_shape_of_file(document):
    reading = read(document)
    (run,) = reading.runs
    assert run.messages == MESSAGES
    assert (reading.format, reading.passed_over, reading.notes) == ("openai-chat", {}, ())
    assert run.provenance == {"format": "openai-chat"}


@pytest.mark.parametrize("make", [as_lines, lambda *rows: as_json(rows, indent=2)])
def test_requests_are_joined_to_the_session_they_were_part_of(make):
    other = {**FIRST, "model": "n", "messages": [user("x")]}
    reading = read(make(FIRST, other, SECOND))
    assert [run.messages for run in reading.runs] == [MESSAGES[:4], (user("x"),)]
    assert reading.runs[0].tools == (tool(),)
    assert [run.provenance["pending"]["model"] for run in reading.runs] == ["m", "n"]
    assert reading.runs[0].recorded[2]["model"] == "m"
    assert reading.passed_over == {}


ANSWERS = [
    response(assistant("b"), usage={"prompt_tokens": 9}),
    json.dumps(response(assistant("b"))),
    CHUNKS,
    "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n",
]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("beside", [True, False])
def test_requests_with_their_responses(answer, beside):
    last = {**SECOND, "response": answer} if beside else {"request": SECOND, "response": answer}
    first = {"request": FIRST, "response": response(calling(call())), "seconds": 1.5}
    reading = read(as_lines(first, last))
    (run,) = reading.runs
    assert run.messages == MESSAGES
    assert [c.recorded["exchange"] for c in run.calls] == [1, 2]
    assert run.recorded[4]["temperature"] == 0
    assert reading.passed_over == {"field seconds": 1}


def test_a_refused_request_is_noted():
    (note,) = read(as_lines({**FIRST, "response": {"error": {"message": "no"}}})).notes
    assert (note.what, note.line) == ("exchange 1 was refused: no", 1)


def test_a_result_without_its_call_is_noted():
    (note,) = read(as_lines(user("a"), result("ok"))).notes
    assert "which no earlier message makes" in note.what
    assert note.line == 2


def test_responses_traffic():
    output = [{"type": "message", "role": "assistant", "content": [], "id": "m"}]
    output[0]["content"].append({"type": "output_text", "text": "b"})
    body = {"model": "m", "input": [user("a")], "store": True}
    reading = read(as_lines({**body, "response": {"id": "r", "output": output}}), openai_responses)
    (run,) = reading.runs
    assert run.messages == (user("a"), assistant("b"))
    assert reading.format == "openai-responses"
    assert not openai_chat.READER.recognises(as_lines(body))
    assert not openai_responses.READER.recognises(as_lines(FIRST))


BLOCK = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    "value",
    [
        {"system": "s", "messages": [user("a")]},
        {"messages": [user("a"), assistant([TEXT, BLOCK])]},
        {"messages": [user("a")], "tools": [{"name": "f", "input_schema": {}}]},
        {"messages": [user([{"text": "a"}])], "modelId": "x"},
        {"messages": [user("a")], "trajectory_format": "mini-swe-agent-1"},
        {"contents": [{"role": "user", "parts": [{"text": "a"}]}]},
        [{"type": "human", "data": {"content": "a"}}],
        [{"role": "user", "parts": [{"type": "text", "content": "a"}]}],
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}],
        {"type": "user", "message": user("a"), "uuid": "u"},
        [{"task_id": 0, "traj": [user("a")]}],
        {"history": [user("a")], "trajectory": []},
        [user("a"), {"role": "narrator", "content": "b"}],
        {"messages": []},
        {},
        [],
        "user",
        7,
    ],
)
def test_what_is_of_another_format_is_not_taken(value):
    rows = value if isinstance(value, list) else [value]
    for document in (as_json(value), as_json(value, indent=1), as_lines(*rows)):
        assert not openai_chat.READER.recognises(document)
        assert not openai_responses.READER.recognises(document)


@pytest.mark.parametrize(
    ("document", "line", "what"),
    [
        (as_lines(user("a"), {"role": "narrator"}), 2, "needs a `role`"),
        (as_lines(*[user("a")] * 50, {"role": "x"}), 51, "needs a `role`"),
        (as_lines(FIRST, {"messages": 5}), 2, "`messages` must be a list"),
        (as_lines(FIRST, {**FIRST, "response": 5}), 2, "`response` must be an object"),
        (as_lines(FIRST, {**FIRST, "response": [5]}), 2, "not of events"),
        (as_lines(FIRST, {**FIRST, "response": CHUNKS[:1]}), 2, "breaks off after 1 events"),
        (as_lines(FIRST, {**FIRST, "response": "{"}), 2, "Expecting property name"),
        (as_lines({"request": FIRST}, {"request": 5}), 2, "`request` must be an object"),
        (Document("a", as_lines(FIRST).data + b'{"mess'), 2, "The file may be truncated"),
        (Document("a", as_lines(FIRST).data + b"[]\n"), 2, "a row must be a JSON object"),
        (as_json([FIRST] * 41 + [5]), None, r"\[41\]: a request must be an object"),
        (as_json([user("a")] * 41 + [5]), None, r"`\[41\]` needs a `role`"),
    ],
)
def test_broken_further_down_is_an_error_with_its_place(document, line, what):
    with pytest.raises(TranscriptError, match=what) as caught:
        openai_chat.READER.read(document)
    assert caught.value.line == line


def test_a_damaged_file_is_still_recognised():
    assert openai_chat.READER.recognises(Document("a", as_lines(FIRST).data + b'{"mess'))
    assert openai_chat.READER.recognises(as_lines(*[user("a")] * 50, {"role": "x"}))


WHOLE = as_lines(
    {"request": FIRST, "response": response(calling(call()), usage={"prompt_tokens": 9})},
    {"request": SECOND, "response": CHUNKS},
)
ITEMS = [
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text"}]},
]
FLOW = as_lines({"model": "m", "input": [user("a"), *ITEMS], "response": {"output": ITEMS[:1]}})


def leaves(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))


def changed(value, path, to):
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], to)
    return copy


@pytest.mark.parametrize(
    ("document", "reader"), [(WHOLE, openai_chat), (FLOW, openai_responses)], ids=["chat", "items"]
)
def test_any_value_anywhere_is_read_or_refused(document, reader):
    rows = [row for _, row in document.rows]
    strange = [None, True, -1, 1.5, "", "x", [], [[]], {}, {"type": []}, [{"role": {}}]]
    refused = 0
    for path in leaves(rows):
        for value in strange if len(path) > 1 else ():
            try:
                reading = reader.READER.read(as_lines(*changed(rows, path, value)))
            except TranscriptError:
                refused += 1
            else:
                assert reading.runs
    assert refused > 100


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(WHOLE.data) - 2))
def test_a_file_cut_anywhere_is_refused_or_whole_lines(end):
    document = Document("a.jsonl", WHOLE.data[:end])
    if not openai_chat.READER.recognises(document):
        assert b"\n" not in document.data
        return
    if end == WHOLE.data.index(b"\n") or end == WHOLE.data.index(b"\n") + 1:
        assert len(openai_chat.READER.read(document).runs[0].messages) == 3
        return
    with pytest.raises(TranscriptError, match="not JSON"):
        openai_chat.READER.read(document)
