"""The way back: untouched messages exactly, changed ones with the change only."""

from dataclasses import dataclass, replace

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.adapters.feed import Feed
from pytest_ctxguard.policies.adapters.originals import Originals, with_changes


@dataclass
class Poor:
    """A framework's message that has a place for the text alone."""

    role: str
    text: str


def back(message):
    return [{"role": message.role, "content": message.text}]


HISTORY = [
    {"role": "user", "content": [{"type": "text", "text": "hello"}], "name": "ana"},
    {"role": "assistant", "content": "yes", "model": "m1"},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "yes", "model": "m2"},
]


def entered():
    table = Originals(back)
    texts = ["hello", "yes", "hello", "yes"]
    made = [Poor(m["role"], text) for m, text in zip(HISTORY, texts, strict=True)]
    return table, [table.enter(message, place) for place, message in enumerate(made)]


def test_untouched_messages_are_the_very_dicts():
    table, made = entered()
    restored = table.restore(made[1:], HISTORY)
    assert all(a is b for a, b in zip(restored, HISTORY[1:], strict=True))


def test_copies_are_matched_by_value_in_order():
    table, made = entered()
    assert table.restore([replace(message) for message in made], HISTORY) == HISTORY
    assert table.restore([replace(made[3])], HISTORY) == HISTORY[1:2]


def test_a_change_in_place_keeps_the_keys_the_framework_has_no_place_for():
    table, made = entered()
    made[0].text = "…"
    assert table.restore(made[:1], HISTORY) == [{"role": "user", "content": "…", "name": "ana"}]


def test_a_new_message_is_what_it_converts_to():
    table, _ = entered()
    assert table.restore([Poor("user", "new")], HISTORY) == [{"role": "user", "content": "new"}]


def test_a_message_made_of_several_gives_back_those_that_are_left():
    results = [
        {"role": "tool", "tool_call_id": call_id, "content": "r", "is_error": True}
        for call_id in ("a", "b")
    ]

    def results_of(made):
        return [{"role": "tool", "tool_call_id": key, "content": made[key]} for key in made]

    table = Originals(results_of)
    made = table.enter({"a": "r", "b": "r"}, 0, 1)
    assert table.restore([made], results) == results
    made["a"] = "cut"
    assert table.restore([made], results) == [{**results[0], "content": "cut"}, results[1]]
    del made["a"]
    assert table.restore([made], results) == results[1:]


def test_a_key_that_was_taken_away_is_gone():
    base = {"role": "assistant", "content": "x", "name": "n"}
    now = {"role": "assistant", "content": "x"}
    assert with_changes({**base, "time": 1}, base, now) == {**now, "time": 1}


def test_a_feed_tells_what_is_new_and_refuses_another_history():
    feed = Feed("some_framework")
    assert feed.new(HISTORY[:2]) == range(2)
    assert feed.new(HISTORY[:2]) == range(2, 2)
    assert feed.new(HISTORY) == range(2, 4)
    with pytest.raises(UsageError, match=r"adapt\.some_framework .* message 3 is gone"):
        feed.new(HISTORY[:3])
    with pytest.raises(UsageError, match="message 0 is another"):
        feed.new([{"role": "user", "content": "else"}, *HISTORY])
