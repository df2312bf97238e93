"""Requests of messages that are known by identity, some of them changed since."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.strategies import policy_histories
from pytest_ctxguard.tokens import known as module
from pytest_ctxguard.tokens.known import KnownMessages
from tests.factories import LetterCounter, call, calling, encoder, result, system, tool, user


def handed(history, tools=()):
    known = KnownMessages(encoder(), tools=tools)
    copies = copy.deepcopy(list(history))
    for message, value in zip(copies, history, strict=True):
        known.add(message, value)
    return known, copies


def edit(message, data):
    """Change a message in place, as a policy should not."""
    change = data.draw(st.sampled_from(["content", "role", "calls", "arguments"]))
    if change == "content":
        message["content"] = data.draw(
            st.sampled_from(["", "cut", [{"type": "text", "text": "x"}]])
        )
    elif change == "role":
        message["role"] = data.draw(st.sampled_from(["user", "tool", "system"]))
    elif change == "calls":
        message["tool_calls"] = [call("c9", page=1)]
    else:
        for each in message.get("tool_calls") or ():
            each["function"]["arguments"] = "{}"


@given(history=policy_histories().filter(bool), data=st.data(), tools=st.booleans())
def test_a_request_has_its_tokens_whatever_was_changed_in_place(history, data, tools):
    definitions = [tool()] if tools else []
    known, copies = handed(history, definitions)
    for _ in range(4):
        if data.draw(st.booleans()):
            edit(data.draw(st.sampled_from(copies)), data)
        pool = st.sampled_from([*copies, *history, *map(dict, copies)])
        begins = data.draw(st.integers(0, len(copies)))
        request = [*copies[:begins], *data.draw(st.lists(pool, max_size=8))]
        assert known.count(request) == encoder().count(request, tools=definitions)


@pytest.mark.parametrize(
    ("before", "after"),
    [({"page": 1}, {"page": True}), ({"a": "x", "b": "y"}, {"b": "y", "a": "x"})],
    ids=["type", "order"],
)
def test_what_is_equal_and_reads_otherwise_is_counted_as_it_reads(before, after):
    def calls(arguments):
        return {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        ]}  # fmt: skip

    known, (message,) = handed([calls(before)])
    assert known.count([message]) == encoder().count([calls(before)])
    message["tool_calls"][0]["function"]["arguments"] = after
    assert message == calls(before)
    assert known.count([message]) == encoder().count([calls(after)])


def test_a_known_message_is_read_once(monkeypatch):
    history = [system(), user("a"), calling(call("c1")), result("x", "c1"), result("y", "c2")]
    known, copies = handed(history)
    known.count(copies)
    read = []
    original = module.see
    monkeypatch.setattr(module, "see", lambda m, i: read.append(i) or original(m, i))
    for length in range(1, 6):
        known.count(copies[:length])
    assert read == [0, 0, 0, 0, 3, 0]  # the system message, and one result without the other


def test_another_object_is_known_in_place_of_one():
    known, (message,) = handed([user("a b c")])
    fresh = user("a b c")
    known.replace(message, fresh)
    known.replace(message, user("never known"))
    message["content"] = "a"
    assert known.count([message]) == encoder().count([user("a")])
    assert known.count([fresh]) == encoder().count([user("a b c")])


def test_the_first_message_that_cannot_be_rendered_is_named():
    known, copies = handed([user("a"), result("x"), result("y"), user("b")])
    copies[2]["content"], copies[3]["role"] = {}, "robot"
    with pytest.raises(PolicyError, match=r"message 2 \(tool\) is not an OpenAI message"):
        known.count(copies)
    copies[2]["content"] = "y"
    with pytest.raises(PolicyError, match=r"message 3 has role 'robot'"):
        known.count(copies)


def test_a_counter_of_another_kind_counts_each_request_whole():
    known = KnownMessages(LetterCounter(), tools=[tool()])
    message = user("abc")
    known.add(message, user("abc"))
    assert known.count([message]) == 14
    message["content"] = "a"
    assert known.count(iter([message])) == 12
    assert known.count([]) == 11
