"""What a recording holds, in numbers."""

import pytest

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.model import Compaction, Transcript
from pytest_ctxguard.transcript.reading import Reading
from pytest_ctxguard.transcript.summary import (
    Summary,
    parts_without_text,
    summarise,
    summarise_runs,
    tokens_of,
)
from tests.factories import assistant, call, calling, result, session, system, user


def recorded_session():
    """Two recorded calls, one of them unanswered, an orphan result, an image, an opaque part."""
    picture = parts.image("https://example.org/a.png")
    return Transcript(
        name="recorded",
        messages=(
            system(),
            {"role": "user", "content": [parts.text("See"), picture, parts.opaque("x/y", 1)]},
            calling(call("c1"), call("c2")),
            result("fine", "c1"),
            result("stray", "c9"),
            assistant("Done."),
            assistant("Really."),
            user("Thanks."),
        ),
        recorded={
            2: {"model": "b-model", "prompt_tokens": 20},
            5: {"model": "a-model", "prompt_tokens": None},
        },
        compactions=(Compaction(at=5, kept_from=5),),
    )


def test_a_session_without_recorded_calls_has_one_per_answer():
    assert summarise(session(), format="ctxguard") == Summary(
        format="ctxguard",
        runs=1,
        calls=3,
        turns=3,
        tool_rounds=1,
        tool_calls=1,
        tool_results=1,
        unanswered_calls=0,
        orphan_results=0,
        opaque_parts=0,
        compactions=0,
        models=(),
        usage_rows=0,
    )


def test_recorded_calls_count_as_recorded():
    assert summarise(recorded_session(), format="x") == Summary(
        format="x",
        runs=1,
        calls=2,  # the last message still awaits an answer
        turns=2,
        tool_rounds=1,
        tool_calls=2,
        tool_results=2,
        unanswered_calls=1,
        orphan_results=1,
        opaque_parts=1,
        compactions=1,
        models=("a-model", "b-model"),
        usage_rows=1,
    )


def test_the_sessions_of_a_file_are_summed():
    reading = Reading(format="x", runs=(recorded_session(), session(), recorded_session()))
    total = summarise_runs(reading)
    assert (total.runs, total.calls, total.turns) == (3, 7, 7)
    assert (total.tool_calls, total.tool_results, total.orphan_results) == (5, 5, 2)
    assert (total.opaque_parts, total.compactions, total.usage_rows) == (2, 2, 2)
    assert total.models == ("a-model", "b-model")


def test_what_forks_share_counts_once_and_a_call_answered_in_one_of_them_is_answered():
    start = (user("a"), calling(call()))
    answered, cut = (*start, result("x"), assistant("b")), (*start, user("never mind"))
    forks = tuple(session(messages=messages, facts=()) for messages in (answered, cut))
    total = summarise_runs(Reading(format="x", runs=forks))
    assert (total.calls, total.turns, total.tool_rounds) == (2, 2, 1)
    assert (total.tool_calls, total.tool_results, total.unanswered_calls) == (1, 1, 0)


def test_parts_that_are_no_text_are_counted_by_type():
    assert parts_without_text(recorded_session().messages) == {"image_url": 1, "opaque": 1}
    assert parts_without_text([user("plain"), {"role": "user", "content": ["a", "b"]}]) == {}


@pytest.mark.parametrize(
    ("value", "tokens"), [(7, 7), (0, 0), (None, None), (-1, None), (True, None), ("7", None)]
)
def test_only_whole_numbers_are_tokens(value, tokens):
    assert tokens_of({"prompt_tokens": value}, "prompt_tokens") == tokens
    assert tokens_of({}, "prompt_tokens") is None
