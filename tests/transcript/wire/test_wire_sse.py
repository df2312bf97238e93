"""Event streams as text, as servers, proxies and recorders leave them."""

import pytest

from pytest_ctxguard.transcript.wire.sse import events


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_in_order_whatever_ends_a_line(end):
    lines = [": keep alive", 'data: {"a": 1}', "", 'data:{"b": 2}', "id: 7", "retry: 10", ""]
    assert events(end.join([*lines, "data: [DONE]", "", ""])) == [{"a": 1}, {"b": 2}]


def test_data_over_several_lines_is_one_value():
    assert events('data: {"a":\ndata:  [1,\ndata: 2]}\n\n') == [{"a": [1, 2]}]


def test_the_last_event_needs_no_blank_line():
    assert events('data: {"a": 1}\n\ndata: {"b": 2}') == [{"a": 1}, {"b": 2}]


def test_an_events_name_is_its_type_where_the_value_has_none():
    text = 'event: ping\ndata: {"n": 1}\n\nevent: x\ndata: {"type": "y"}\n\ndata: {"n": 2}\n\n'
    assert events(text) == [{"type": "ping", "n": 1}, {"type": "y"}, {"n": 2}]


def test_line_ends_of_other_standards_are_text():
    assert events('\ufeffdata: {"a": "\u2028\x85"}\n\n') == [{"a": "\u2028\x85"}]


def test_an_empty_stream_has_no_events():
    assert events("") == events("\n\n: nothing yet\n\nevent: ping\n\n") == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('data: {"a": 1}\n\ndata: {"b": ', "event 2 of the stream is not JSON"),
        ("data: [1]\n\n", "event 1 of the stream is not a JSON object"),
        ("data: " + "[" * 200_000 + "\n\n", "event 1 of the stream is nested too deep"),
        ('{"error": "x"}', "line 1 is not of an event stream"),
        ("data: {}\n<html>\n", "line 2 is not of an event stream"),
    ],
)
def test_what_is_no_stream_is_said(text, what):
    with pytest.raises(ValueError, match=what):
        events(text)
