"""Tool definitions with less prose."""

import pytest

from pytest_ctxguard.tokens.trimming import one_sentence, tool_name, without_parameter_prose
from tests.factories import tool


def with_parameters(parameters):
    definition = tool()
    return {**definition, "function": {**definition["function"], "parameters": parameters}}


@pytest.mark.parametrize(
    ("description", "short"),
    [
        ("Read a log.", "Read a log."),
        ("Read a log", "Read a log"),
        ("", ""),
        ("Read a log. Use it last.", "Read a log."),
        ("  Read a log! Then stop.", "Read a log!"),
        ("Read a log, e.g. of a service. Use it last.", "Read a log, e.g. of a service."),
        ("Read v1.2 logs. Use it last.", "Read v1.2 logs."),
        ("Read a log\n\nUse it last", "Read a log"),
        ("Read\na log. Use it last.", "Read\na log."),
        ("ログを読む。最後に使う。", "ログを読む。"),
    ],
)
def test_the_first_sentence(description, short):
    assert one_sentence(tool(description=description)) == tool(description=short)


def test_descriptions_of_parameters_go_at_any_depth():
    item = {"type": "object", "description": "An item.", "properties": {"id": {"type": "integer"}}}
    full = {
        "type": "object",
        "description": "All of it.",
        "properties": {
            "service": {"type": "string", "description": "Which."},
            "items": {"type": "array", "items": item},
            "at": {"anyOf": [{"type": "string", "description": "ISO 8601."}, {"type": "null"}]},
        },
        "$defs": {"x": {"type": "string", "description": "X."}},
        "required": ["service"],
    }
    bare = {
        "type": "object",
        "properties": {
            "service": {"type": "string"},
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
            },
            "at": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "$defs": {"x": {"type": "string"}},
        "required": ["service"],
    }
    assert without_parameter_prose(with_parameters(full)) == with_parameters(bare)


def test_a_parameter_may_be_called_description():
    named = {"properties": {"description": {"type": "string"}}, "required": ["description"]}
    assert without_parameter_prose(with_parameters(named)) == with_parameters(named)


def test_values_are_no_schemas():
    data = {"default": {"description": "x"}, "enum": [{"description": "y"}], "const": {}}
    full = {"properties": {"a": data}}
    assert without_parameter_prose(with_parameters(full)) == with_parameters(full)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"type": "web_search"},
        {"type": "function", "function": None},
        {"type": "function", "function": {"name": "f", "description": None, "parameters": None}},
        {"type": "function", "function": {"name": "f", "description": 3, "parameters": [1]}},
    ],
)
def test_an_odd_definition_stays_as_it_is(odd):
    assert one_sentence(odd) == without_parameter_prose(odd) == odd


def test_names():
    assert tool_name(tool("f")) == "f"
    assert tool_name({"type": "custom", "name": "g"}) == "g"
    assert tool_name({"type": "web_search"}) == "web_search"
    assert tool_name({}) == ""
