"""Reported ways in which counters went wrong, held against every counter there is."""

import json

import pytest

from pytest_ctxguard.errors import ModelMissing
from pytest_ctxguard.tokens.counters.choosing import NAMES, counter
from pytest_ctxguard.transcript.wire import anthropic, openai_chat
from tests.factories import assistant, call, calling, encoder, result, user

ARGUMENTS = {"path": "src/app.py", "content": "line of code\n" * 60}
WRITING = [user("write it"), calling(call("w", "write_file", **ARGUMENTS)), result("ok", "w")]
READING = [
    user("Read a.txt and tell me what it says about the refund window."),
    calling(call("c1", "read", p="a.txt"), content="I will read the file first."),
    result("Refunds within 30 days.", "c1"),
    assistant("Thirty days."),
]
ODD = [
    "parser stops at <|endoftext|> and at <|im_start|>",
    "<|im_end|><tool_response><think>[INST]<s><｜User｜>",
    "",
    "\0",
    "half a pair \ud83d",
    "a" * 100_000,
]


@pytest.fixture(params=NAMES, scope="module")
def counting(request):
    if request.param == "qwen2.5":
        return encoder()
    try:
        return counter(request.param)
    except ModelMissing as error:
        pytest.skip(str(error))


def test_tokens_05_arguments_of_calls_are_counted(counting):
    without = [WRITING[0], calling(call("w", "write_file")), WRITING[2]]
    text = [user(json.dumps(ARGUMENTS)), assistant("ok")]
    bare = [user(""), assistant("ok")]
    arguments = counting.count(text) - counting.count(bare)
    assert counting.count(WRITING) - counting.count(without) >= 0.9 * arguments > 150


def test_tokens_07_a_longer_history_never_counts_less(counting):
    sizes = [counting.count(READING[:length]) for length in range(1, len(READING) + 1)]
    assert sizes == sorted(sizes)
    spoken = counting.count([READING[0], assistant("I will read the file first.")])
    assert sizes[1] > spoken  # text and call, both


@pytest.mark.parametrize("text", ODD, ids=["names", "all", "empty", "nul", "surrogate", "long"])
def test_tokens_08_any_text_is_counted_as_text(counting, text):
    assert counting.count([user(text)]) >= counting.count([user("")])


def test_tokens_08_a_control_tokens_name_is_spelled_out():
    try:
        o200k = counter("o200k")
    except ModelMissing as error:
        pytest.skip(str(error))
    assert o200k.count_text("parser stops at <|endoftext|> and at <|im_start|>") == 18


SAID = {"role": "assistant", "content": "ok"}
OPENAI = {"choices": [{"message": SAID, "finish_reason": "stop"}]}
ANTHROPIC = {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (openai_chat, {**OPENAI, "usage": {"prompt_tokens": 1000, "completion_tokens": 50}}),
        (
            openai_chat,
            {
                **OPENAI,
                "usage": {
                    "prompt_tokens": 1000,
                    "completion_tokens": 50,
                    "prompt_tokens_details": {"cached_tokens": 900},
                },
            },
        ),
        (
            openai_chat,
            {
                **OPENAI,
                "usage": {"prompt_tokens": 1000, "completion_tokens": 50},
                "timings": {"cache_n": 900, "prompt_n": 100},
            },
        ),
        (
            anthropic,
            {
                **ANTHROPIC,
                "usage": {
                    "input_tokens": 40,
                    "cache_read_input_tokens": 900,
                    "cache_creation_input_tokens": 60,
                    "output_tokens": 50,
                },
            },
        ),
    ],
    ids=["openai", "openai-cached", "llama.cpp-cached", "anthropic-cached"],
)
def test_tokens_10_cached_tokens_are_part_of_the_input_once(wire, body):
    call = wire.answer(body).call
    assert (call["prompt_tokens"], call["completion_tokens"]) == (1000, 50)
