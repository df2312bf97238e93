"""The estimators: their rule, their stated bias, and what they remember."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.estimators import (
    MESSAGE_OVERHEAD,
    MessageEstimator,
    by_script,
    chars_per_4,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("привет", 3),
        ("при", 2),
        ("γειά", 2),
        ("مرحبا", 3),
        ("é", 1),
        ("中文", 2),
        ("ひらがなカタカナ", 8),
        ("한국어", 3),
        ("、。", 2),
        ("ＡＢ", 2),
        ("𠀀𠀁", 2),
        ("🎉🎉", 1),
        ("ab中", 2),  # half a token and one: rounded up once, over the whole text
        ("абв гд", 3),  # 5 halves and a quarter
        ("\ud800", 1),
    ],
)
def test_by_script(text, tokens):
    assert by_script(text) == tokens


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("привет", 2)])
def test_chars_per_4(text, tokens):
    assert chars_per_4(text) == tokens


def test_report_a_example_errs_low_for_both():
    # 100,092 characters of which 73,600 are Cyrillic give the figures the report published.
    chapter = "ж" * 73_600 + " " * 26_492
    assert chars_per_4(chapter) == 25_023
    assert by_script(chapter) == 43_423
    measured = 44_600
    assert chars_per_4(chapter) < by_script(chapter) < measured


@given(ctx.texts(), ctx.texts())
def test_by_script_grows_with_the_text_and_adds_up_but_for_rounding(a, b):
    both = by_script(a + b)
    assert max(by_script(a), by_script(b)) <= both <= by_script(a) + by_script(b) <= both + 1


@given(ctx.texts())
def test_by_script_lies_between_a_quarter_and_all_of_the_characters(text):
    assert chars_per_4(text) <= by_script(text) <= len(text)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_by_script_is_chars_per_4_on_ascii(text):
    assert by_script(text) == chars_per_4(text)


def call_message(arguments):
    function = {"name": "read_log", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }


def test_a_message_is_its_text_and_its_calls_each_rounded_apart():
    estimator = MessageEstimator()
    assert estimator({"role": "user", "content": "abcde"}) == MESSAGE_OVERHEAD + 2
    assert estimator({"role": "assistant", "content": None}) == MESSAGE_OVERHEAD
    # read_log: 2; {"a": 1}: 2
    assert estimator(call_message('{"a": 1}')) == MESSAGE_OVERHEAD + 4
    assert estimator(call_message({"a": 1})) == MESSAGE_OVERHEAD + 4  # as some clients carry it
    parts = [{"type": "text", "text": "abcd"}, {"type": "image_url", "image_url": {"url": "x"}}]
    assert estimator({"role": "user", "content": parts}) == MESSAGE_OVERHEAD + 1


def test_the_overhead_is_a_choice():
    assert MessageEstimator(overhead=0)({"role": "user", "content": "abcd"}) == 1


@given(ctx.histories())
def test_each_distinct_message_is_estimated_once_over_growing_deep_copies(history):
    seen = []

    def spy(text):
        seen.append(text)
        return by_script(text)

    estimator = MessageEstimator(spy)
    sizes = [estimator.request(copy.deepcopy(history[:n])) for n in range(len(history) + 1)]
    runs, texts = estimator.runs, len(seen)
    fresh = MessageEstimator()
    assert sizes == [sum(map(fresh, history[:n])) for n in range(len(history) + 1)]
    estimator.request(copy.deepcopy(history))
    assert (estimator.runs, len(seen)) == (runs, texts)
    assert runs <= len(history)


def test_equal_messages_share_an_estimate_and_other_text_does_not():
    estimator = MessageEstimator()
    estimator({"role": "user", "content": "same"})
    estimator({"role": "assistant", "content": "same"})
    assert estimator.runs == 1
    estimator({"role": "user", "content": "other"})
    assert estimator.runs == 2


def test_text_and_call_names_are_not_confused():
    estimator = MessageEstimator()
    estimator(call_message("{}"))
    assert estimator({"role": "assistant", "content": "read_log{}"}) == MESSAGE_OVERHEAD + 3


def test_tool_definitions_are_part_of_a_request_and_remembered():
    estimator = MessageEstimator()
    tools = [{"type": "function", "function": {"name": "a"}}]
    message = {"role": "user", "content": "abcd"}
    size = estimator.request([message], tools)
    assert size == estimator(message) + by_script('{"type": "function", "function": {"name": "a"}}')
    assert estimator.request([message], copy.deepcopy(tools)) == size
    assert estimator.runs == 2


def test_memory_is_bounded_and_drops_the_oldest():
    estimator = MessageEstimator(remember=2)
    for content in ("a", "b", "c", "c", "b"):
        estimator({"role": "user", "content": content})
    assert estimator.runs == 3
    assert estimator({"role": "user", "content": "a"}) == MESSAGE_OVERHEAD + 1
    assert estimator.runs == 4


def test_a_memory_of_nothing_is_refused():
    with pytest.raises(UsageError, match="remember=0"):
        MessageEstimator(remember=0)


def test_a_copy_remembers_and_then_goes_its_own_way():
    estimator = MessageEstimator()
    estimator({"role": "user", "content": "a"})
    twin = copy.deepcopy(estimator)
    twin({"role": "user", "content": "a"})
    twin({"role": "user", "content": "b"})
    assert (estimator.runs, twin.runs) == (1, 2)
