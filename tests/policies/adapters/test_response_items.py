"""Messages as items of the Responses API: whole ones come back, parts of one as what is left."""

import copy

import pytest
from hypothesis import given, settings

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.response_items import Items
from pytest_ctxguard.transcript.wire import openai_items
from tests.policies.adapters.histories import PIXEL, rich_histories

REASONING = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []}
HISTORY = [
    {"role": "user", "content": "find both", "name": "ana"},
    {
        "role": "assistant",
        "content": "Looking.",
        "reasoning_items": [REASONING],
        "model": "m",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "find", "arguments": "{ }"}},
            {"id": "b", "type": "custom", "function": {"name": "grep", "arguments": "x+"}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "here " * 50, "name": "find"},
    {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "there"}]},
]


def items():
    made = Items(HISTORY, range(len(HISTORY)))
    return made, made.between(0, len(HISTORY))


def test_the_items_of_a_history():
    _, given_ = items()
    assert [item.get("type") or item["role"] for item in given_] == [
        "user",
        "reasoning",
        "assistant",
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
    ]
    assert given_[4] == {
        "type": "custom_tool_call",
        "call_id": "b",
        "name": "grep",
        "input": "x+",
    }


@settings(deadline=None)
@given(rich_histories())
def test_all_items_are_the_history(history):
    made = Items(history, range(len(history)))
    given_ = made.between(0, len(history))
    restored = made.restore(given_, adapter="test")
    assert all(a is b for a, b in zip(restored, history, strict=True))
    assert made.restore(copy.deepcopy(given_), adapter="test") == history


@settings(deadline=None)
@given(rich_histories())
def test_a_provider_can_read_the_items(history):
    made = Items(history, range(len(history)))
    read = openai_items.messages(made.between(0, len(history)), "input")
    calls = [call["id"] for message in read for call in message.get("tool_calls", ())]
    assert calls == [call["id"] for m in history for call in m.get("tool_calls", ())]


def test_the_newest_items_are_the_newest_messages():
    repeated = [{"role": "user", "content": "go", "name": name} for name in ("ana", "ben")]
    made = Items(repeated, range(2))
    assert made.restore(copy.deepcopy(made.between(0, 2))[1:], adapter="test") == repeated[1:]


def test_part_of_a_message_is_what_is_left_of_it():
    made, given_ = items()
    sent = made.restore([given_[0], given_[3], given_[5]], adapter="test")
    assert sent == [
        HISTORY[0],
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [HISTORY[1]["tool_calls"][0]],
        },
        HISTORY[2],
    ]


def test_a_shortened_result_keeps_all_else():
    made, given_ = items()
    for edit in (lambda item: item, copy.deepcopy):
        shortened = {**edit(given_[5]), "output": "here"}
        sent = made.restore([*given_[:5], shortened, given_[6]], adapter="test")
        assert sent == [*HISTORY[:2], {**HISTORY[2], "content": "here"}, HISTORY[3]]


def test_an_edit_in_place_is_seen_and_never_reaches_the_history():
    before = copy.deepcopy(HISTORY)
    made, given_ = items()
    given_[5]["output"] = "here"
    given_[1]["summary"].append({"type": "summary_text", "text": "hm"})
    sent = made.restore(given_, adapter="test")
    assert sent[2] == {**HISTORY[2], "content": "here"}
    assert sent[1]["reasoning_items"][0]["summary"]
    assert before == HISTORY


def test_images_and_files():
    content = [
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {"type": "opaque", "of": "anthropic/document", "data": {}},
    ]
    made = Items([{"role": "user", "content": content}], range(1))
    (item,) = made.between(0, 1)
    assert item["content"] == [
        {"type": "input_image", "image_url": PIXEL, "detail": "low"},
        {"type": "input_file", "file_id": "file-1"},
        content[2],
        {"type": "input_text", "text": "[anthropic/document]"},
    ]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("a text", r"adapt\.test cannot read a builtins\.str"),
        ({"type": "function_call", "call_id": "a"}, "an item that cannot be sent.*name"),
        ({"role": "wizard", "content": "x"}, "an item that cannot be sent.*role"),
    ],
)
def test_what_is_no_item_is_an_error(returned, said):
    made, given_ = items()
    with pytest.raises(PolicyError, match=said):
        made.restore([*given_, returned], adapter="test")
