"""Files of Anthropic's request bodies, with and without the responses."""

import json

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers.anthropic import READER
from tests.factories import assistant, call, calling, result, system, user

USE = {"type": "tool_use", "id": "c1", "name": "read_log", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
FIRST = {"model": "claude", "system": "You run payments.", "messages": [user("a")]}
SECOND = {**FIRST, "messages": [user("a"), assistant([USE]), user([RESULT])]}


def response(*blocks):
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {"type": "message", "role": "assistant", "content": list(blocks), "usage": usage}


def text(value):
    return {"type": "text", "text": value}


def as_lines(*rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    return Document("logs/agent.jsonl", lines.encode())


def read(document):
    assert READER.recognises(document)
    return READER.read(document)


def test_one_body_as_a_file_of_json():
    reading = read(Document("agent.json", json.dumps(SECOND, indent=2).encode()))
    [run] = reading.runs
    assert run.messages == (system(), user("a"), calling(call()), result("ok"))
    assert (reading.format, run.name) == ("anthropic", "agent")


def test_rows_with_responses_are_joined():
    rows = (
        {"request": FIRST, "response": response(USE), "latency": 1.5},
        {"request": SECOND, "response": response(text("b"))},
    )
    reading = read(as_lines(*rows))
    [run] = reading.runs
    assert run.messages[2:] == (calling(call()), result("ok"), assistant("b"))
    assert reading.notes == ()
    assert reading.passed_over == {"field latency": 1}
    assert run.recorded[4]["prompt_tokens"] == 10


def test_a_plain_body_is_recognised_by_its_response():
    plain = {"model": "claude", "messages": [user("a")]}
    assert not READER.recognises(as_lines(plain))
    [run] = read(as_lines({"request": plain, "response": response(text("b"))})).runs
    assert run.messages == (user("a"), assistant("b"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"[1]",
        b'{"messages": 1, "system": "a"}',
        b'{"request": 5, "response": {"type": "message"}}',
        b'{"messages": [{"role": "user", "content": "a"}], "model": "gpt"}\n',
        b'{"role": "user", "content": "a"}\n',
    ],
)
def test_what_is_not_recognised(data):
    assert not READER.recognises(Document("a.jsonl", data))


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ({**FIRST, "messages": [{"role": "robot"}]}, r"messages\[0\].role` is 'robot'"),
        ({"request": FIRST, "response": {"type": "message"}}, "`content` is missing"),
        ({"request": FIRST, "response": [{"type": "message_start", "message": {}}]}, "breaks off"),
        ({"request": FIRST, "response": 5}, "`response` must be"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(second, what):
    with pytest.raises(TranscriptError, match=what) as raised:
        READER.read(as_lines(FIRST, second))
    assert raised.value.line == 2
