"""No body, however damaged, raises anything but ``ValueError``, or reads as what is no message."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.cassettes import gemini_bedrock_stand_in as stand_in
from pytest_ctxguard.transcript.shape import is_tool, wrong_with_message
from pytest_ctxguard.transcript.wire import anthropic, bedrock, eventstream, gemini

GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
TEXT = {"type": "text", "text": "a"}
SOURCE = {"type": "base64", "media_type": "image/gif", "data": GIF}
CLAUDE = {
    "model": "claude",
    "system": [TEXT],
    "tools": [{"name": "log", "input_schema": {"type": "object"}}, {"type": "x_2025", "name": "x"}],
    "messages": [
        {"role": "user", "content": [TEXT, {"type": "image", "source": SOURCE}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "b", "signature": "c"},
                {"type": "tool_use", "id": "c1", "name": "log", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [TEXT], "is_error": True},
                {"type": "document", "source": {"type": "text", "data": "d"}},
            ],
        },
    ],
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "s"}]},
    "tools": [{"functionDeclarations": [{"name": "log", "parameters": {}}]}, {"googleSearch": {}}],
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/gif", "data": GIF}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "b", "thought": True},
                {"functionCall": {"name": "log", "args": {}}, "thoughtSignature": "c"},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "log", "response": {}}}]},
    ],
}
CONVERSE = {
    "system": [{"text": "s"}, {"cachePoint": {"type": "default"}}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "log", "inputSchema": {"json": {}}}}]},
    "messages": [
        {
            "role": "user",
            "content": [{"text": "a"}, {"image": {"format": "gif", "source": {"bytes": GIF}}}],
        },
        {"role": "assistant", "content": stand_in.converse_calls()},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "tooluse_1", "content": []}}]},
    ],
}
EVENTS = eventstream.events(b"".join(stand_in.event(*e) for e in stand_in.converse_events()))
WIRES = {
    "anthropic": (anthropic.WIRE, CLAUDE, stand_in.message(), list(stand_in.message_events())),
    "gemini": (
        gemini.WIRE,
        GEMINI,
        list(stand_in.gemini_chunks())[-1],
        list(stand_in.gemini_chunks()),
    ),
    "bedrock": (
        bedrock.WIRE,
        CONVERSE,
        stand_in.converse_body(stand_in.converse_calls(), stop="tool_use", read=0),
        EVENTS,
    ),
}
VALUES = st.sampled_from([None, True, 0, -1, 2.5, "", "x", "\ud800", [], {}, [[]], [{}], {"x": []}])


def places(value, path=()):
    """Yield the place of every value inside a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def damaged(value, path, change):
    """Return a value with one place taken out (``change`` is ``...``) or replaced."""
    whole = copy.deepcopy(value)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if change is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = change
    return whole


@st.composite
def changes(draw, value):
    for _ in range(draw(st.integers(1, 2))):
        found = list(places(value))
        if found:
            value = damaged(value, draw(st.sampled_from(found)), draw(st.just(...) | VALUES))
    return value


def messages_of(read, value):
    try:
        return read(value)
    except ValueError as error:
        if not str(error):
            raise AssertionError("an error without a word") from error
        return None


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_request(name, data):
    wire, body, _, _ = WIRES[name]
    asked = messages_of(wire.asked, data.draw(changes(body)))
    if asked is not None:
        assert [m for m in map(wrong_with_message, asked.messages) if m] == []
        assert all(map(is_tool, asked.tools))
        json.dumps(asked.settings)


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_answer(name, data):
    wire, _, body, events = WIRES[name]
    damaged_events = data.draw(changes(events))
    if all(isinstance(event, dict) for event in damaged_events):
        assembled = messages_of(wire.assemble, damaged_events)
        if assembled is not None:
            messages_of(wire.answer, assembled)
    answer = messages_of(wire.answer, data.draw(changes(body)))
    if answer is not None:
        assert [m for m in map(wrong_with_message, answer.messages) if m] == []


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_body_is_taken_or_not(name, data):
    wire, body, _, _ = WIRES[name]
    body = data.draw(changes(body))
    assert wire.takes(data.draw(st.sampled_from(["", "/v1/messages", "/x"])), body) in (True, False)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_damaged_event_stream(data):
    whole = b"".join(stand_in.event(*e) for e in stand_in.converse_events())
    at = data.draw(st.integers(0, len(whole) - 1))
    cut = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 8)) :]
    if cut != whole:
        events = messages_of(eventstream.events, cut)
        assert events is None or len(events) < len(EVENTS)
