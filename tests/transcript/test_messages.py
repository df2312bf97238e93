"""Questions about a message."""

import pytest

from pytest_ctxguard.transcript.messages import (
    content_text,
    copy_json,
    full_text,
    is_user,
    tool_calls,
    tool_rounds,
    turn_starts,
)
from tests.factories import assistant, call, calling, result, system, user

CONTENTS = {
    "text": ("plain", "plain"),
    "null": (None, ""),
    "text parts are joined": ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
    "bare strings as parts": (["a", {"type": "text", "text": "b"}], "ab"),
    "images have no text": ([{"type": "image_url", "image_url": {"url": "x"}}], ""),
    "a part without text": ([{"type": "text"}], ""),
    "a part with null": ([{"type": "text", "text": None}], ""),
}


@pytest.mark.parametrize(("content", "text"), CONTENTS.values(), ids=CONTENTS)
def test_the_text_of_content(content, text):
    assert content_text({"role": "user", "content": content}) == text


def test_a_message_without_content_has_no_text():
    assert content_text({"role": "assistant"}) == ""


def test_the_full_text_has_names_and_arguments_of_calls():
    message = calling(call("c1", "open_ticket", employee="4417"), call("c2"), content="On it.")
    assert full_text(message) == 'On it.\nopen_ticket {"employee": "4417"}\nread_log {}'


def test_a_call_without_function_has_no_text():
    assert full_text({"role": "assistant", "tool_calls": [{"id": "c1"}]}) == "\n "


def test_tool_calls_may_be_missing_or_null():
    assert tool_calls(user("x")) == ()
    assert tool_calls({"role": "assistant", "content": "x", "tool_calls": None}) == ()


def test_only_user_messages_start_a_turn():
    history = [system(), user("a"), calling(call()), result("x"), user("b"), assistant("c")]
    assert [is_user(message) for message in history] == [False, True, False, False, True, False]
    assert turn_starts(history) == (1, 4)


ROUNDS = {
    "none": ([user("a"), assistant("b")], ()),
    "one call, one result": ([user("a"), calling(call()), result("x")], (range(1, 3),)),
    "parallel calls": (
        [calling(call("a"), call("b")), result("x", "b"), result("y", "a"), assistant("z")],
        (range(3),),
    ),
    "one after another": (
        [calling(call("a")), result("x", "a"), calling(call("b")), result("y", "b")],
        (range(2), range(2, 4)),
    ),
    "a call without results": ([calling(call()), user("a")], (range(1),)),
    "a call at the end": ([user("a"), calling(call())], (range(1, 2),)),
    "results without a call": ([result("x"), user("a")], ()),
}


@pytest.mark.parametrize(("messages", "rounds"), ROUNDS.values(), ids=ROUNDS)
def test_tool_rounds(messages, rounds):
    assert tool_rounds(messages) == rounds


def test_a_copy_is_equal_and_shares_nothing_that_can_change():
    original = {"a": [1, {"b": None}], "c": ("x", [True, 2.5]), "d": {"e": set()}}
    copied = copy_json(original)
    assert copied == original
    copied["a"][1]["b"] = copied["c"][1][0] = "changed"
    copied["d"]["e"].add(1)
    assert original == {"a": [1, {"b": None}], "c": ("x", [True, 2.5]), "d": {"e": set()}}
