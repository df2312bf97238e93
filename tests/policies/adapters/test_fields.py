"""What adapters ask of messages, in the odd cases."""

import pytest

from pytest_ctxguard.policies.adapters import fields
from tests.policies.adapters.histories import PIXEL


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"q": 1}', {"q": 1}),
        ("", {}),
        (None, {}),
        ('{"q": ', {"arguments": '{"q": '}),
        ("[1]", {"arguments": [1]}),
        ('"x"', {"arguments": "x"}),
    ],
)
def test_arguments_are_an_object_whatever_their_text(text, value):
    assert fields.arguments({"function": {"arguments": text}}) == value


def test_arguments_of_a_call_without_a_function():
    assert fields.arguments({}) == {}


def test_plain_text_names_what_is_no_text():
    content = [
        "plain",
        {"type": "text", "text": "more"},
        {"type": "image_url", "image_url": {"url": PIXEL}},
        {"type": "opaque", "of": "anthropic/document", "data": {}},
    ]
    assert fields.plain_text({"content": content}) == "plainmore[image_url][anthropic/document]"
    assert fields.plain_text({"content": None}) == ""
    assert fields.plain_text({"content": "plain"}) == "plain"


def test_image_addresses():
    assert fields.image_url({"type": "image_url", "image_url": {"url": PIXEL}}) == PIXEL
    assert fields.image_url({"type": "image_url", "image_url": PIXEL}) == PIXEL
    assert fields.image_url({"type": "image_url", "image_url": {}}) is None
    assert fields.image_url({"type": "text", "text": PIXEL}) is None


def test_the_results_of_a_round_are_one_group():
    roles = ["system", "user", "assistant", "tool", "tool", "assistant", "tool"]
    messages = [{"role": role} for role in roles]
    assert [list(group) for group in fields.groups(messages, 1)] == [[1], [2], [3, 4], [5], [6]]
    assert [list(group) for group in fields.groups(messages, 4)] == [[4], [5], [6]]


def test_the_names_of_calls():
    calls = [{"id": "a", "function": {"name": "find"}}, {"id": "b"}]
    assert fields.call_names([{"role": "assistant", "tool_calls": calls}]) == {
        "a": "find",
        "b": "tool",
    }


def test_calls_of_frameworks_with_objects():
    assert (
        fields.object_call("a", "find", arguments={"q": "ä"})["function"]["arguments"]
        == '{"q": "ä"}'
    )
