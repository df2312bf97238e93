from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.backend import ToolCall
from pytest_ctxguard.engine.toolcalls import Parsed, balanced_end, parse, parse_required

TOOLS = {"get_metrics", "search_logs"}
CALL = '{"name": "get_metrics", "arguments": {"service": "api"}}'
PARSED = ToolCall("get_metrics", '{"service": "api"}')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<tool_call>\n{CALL}\n</tool_call>", Parsed("", (PARSED,))),
        (CALL, Parsed("", (PARSED,))),
        (f"```json\n{CALL}\n```", Parsed("", (PARSED,))),
        (f"I will look.\n{CALL}", Parsed("I will look.", (PARSED,))),
        (f"I will look. <tool_call>{CALL}</tool_call>", Parsed("I will look.", (PARSED,))),
        (f"{CALL}\n{CALL}", Parsed("", (PARSED, PARSED))),
        (f"<tool_call>\n{CALL}", Parsed("", (PARSED,))),
        ('{"name": "nowhere", "arguments": {}}', Parsed("", (ToolCall("nowhere", "{}"),))),
        ('<tool_call>{"name": "nowhere"}</tool_call>', Parsed("", (ToolCall("nowhere", "{}"),))),
        ('{"name": "get_metrics"}', Parsed("", (ToolCall("get_metrics", "{}"),))),
        ('{"name": "a", "arguments": "{\\"b\\": 1}"}', Parsed("", (ToolCall("a", '{"b": 1}'),))),
        ('{"name": "a", "arguments": {"t": "д\n"}}', Parsed("", (ToolCall("a", '{"t": "д\\n"}'),))),
    ],
)
def test_calls_are_found(text, expected):
    assert parse(text, tools=TOOLS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "No call here.",
        '{"name": "Anna", "age": 41}',
        '{"error": "none"}',
        '{"name": "get_metrics", "arguments": {"service"',
        "{'name': 'get_metrics', 'arguments': {}}",
        f"In prose {CALL} is not a call.",
        '<tool_call>{"name": 4}</tool_call>',
        "",
    ],
)
def test_other_text_is_left_as_it_is(text):
    assert parse(text, tools=TOOLS) == Parsed(text, ())


def test_a_required_reply_ends_with_its_first_object():
    assert parse_required('get_metrics", "arguments": {"service": "api"}}\nmore') == PARSED
    assert parse_required('get_metrics"}') == ToolCall("get_metrics", "{}")


@pytest.mark.parametrize("reply", ['get_metrics", "arguments": {"se', "get\", 'x'}", ""])
def test_a_broken_required_reply_is_no_call(reply):
    assert parse_required(reply) is None


TEXT = st.text(alphabet='{}"\\a\n', max_size=8)
VALUES = st.recursive(TEXT, lambda value: st.dictionaries(TEXT, value), max_leaves=8)


@given(st.dictionaries(TEXT, VALUES, max_size=4), TEXT)
def test_an_object_ends_where_its_json_ends(value, rest):
    text = json.dumps(value, ensure_ascii=False)
    assert balanced_end(text + rest, 0) == len(text)


@given(st.text(alphabet='{}"\\:,nameargut<>/_l \n'))
def test_no_text_breaks_the_parser(text):
    assert len(parse(text, tools=TOOLS).text) <= len(text)
