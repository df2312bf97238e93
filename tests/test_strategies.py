"""The public Hypothesis strategies keep what they promise."""

import json

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.corpus.kinds import kinds
from pytest_ctxguard.tokens.corpus.texts import corpus, scripts
from pytest_ctxguard.transcript.messages import tool_calls, tool_rounds, turn_starts
from pytest_ctxguard.transcript.wellformed import openai_rules


@given(ctx.texts(max_size=10))
def test_texts_can_be_encoded_and_are_short(text):
    assert text.encode("utf-8").decode("utf-8") == text
    longest_literal = max(map(len, ctx.LITERALS))
    assert len(text) <= 10 * longest_literal


@settings(deadline=None)
@given(st.data(), st.sampled_from(scripts()))
def test_texts_of_a_script_are_short_and_in_it(data, script):
    text = data.draw(ctx.script_texts(script, max_size=8))
    assert len(text) <= 8
    own = {c for each in corpus() if each.script == script for c in each.text}
    assert set(text) <= own


@settings(deadline=None)
@given(st.data(), st.sampled_from(list(kinds())))
def test_texts_of_a_kind_are_parts_of_one(data, kind):
    text = data.draw(ctx.kind_texts(kind, max_size=50))
    assert len(text) <= 50
    assert text.encode("utf-8").decode("utf-8") == text
    if kind == "hex":
        assert set(text) <= set("0123456789abcdef")


def test_unknown_scripts_and_kinds_are_errors_that_name_all():
    with pytest.raises(UsageError, match="no 'Klingon'; there are: Arabic"):
        ctx.script_texts("Klingon")
    with pytest.raises(UsageError, match="no 'hexes'; there are: access-log"):
        ctx.kind_texts("hexes")


@given(ctx.long_texts(max_size=5, max_repeat=3))
def test_long_texts_repeat_a_short_one(text):
    size = len(text)
    assert any(size % n == 0 and text == text[: size // n] * n for n in (1, 2, 3))


@settings(deadline=None)
@given(ctx.tool_rounds(max_calls=4))
def test_a_tool_round_is_one_round_whose_arguments_are_json(messages):
    assert tool_rounds(messages) == (range(len(messages)),)
    ids = [call["id"] for call in tool_calls(messages[0])]
    assert sorted(ids) == sorted(message["tool_call_id"] for message in messages[1:])
    assert 1 <= len(ids) <= 4
    for call in tool_calls(messages[0]):
        assert set(json.loads(call["function"]["arguments"])) == {"q"}


@settings(deadline=None)
@given(st.data(), st.booleans())
def test_a_turn_is_answered_or_waits(data, answered):
    turn = data.draw(ctx.turns(max_rounds=2, answered=answered))
    assert turn_starts(turn) == (0,)
    last = turn[-1]
    assert (last["role"] == "assistant" and not tool_calls(last)) == answered
    assert len(tool_rounds(turn)) <= 2


@settings(deadline=None)
@given(st.data(), st.sampled_from(["chat", "agentic", "any"]))
def test_a_history_waits_for_a_call_and_is_well_formed(data, kind):
    history = data.draw(ctx.histories(kind=kind, max_turns=3, max_rounds=4))
    assert history[-1]["role"] in ("user", "tool")
    assert openai_rules(history) == []
    ids = [call["id"] for message in history for call in tool_calls(message)]
    assert len(ids) == len(set(ids))
    assert len(turn_starts(history)) <= 3
    if kind == "agentic":
        assert len(turn_starts(history)) == 1


REACHABLE = {
    "several turns": lambda history: len(turn_starts(history)) > 2,
    "a long tool loop": lambda history: len(tool_rounds(history)) > 3,
    "parallel calls": lambda history: any(len(tool_calls(m)) > 1 for m in history),
    "a developer message": lambda history: history[0]["role"] == "developer",
    "no system message": lambda history: history[0]["role"] == "user",
    "a spelled control token": lambda history: "<|im_end|>" in str(history),
}


@pytest.mark.parametrize("condition", REACHABLE.values(), ids=REACHABLE)
def test_what_matters_is_drawn_in_time(condition):
    no_shrinking = settings(
        max_examples=2000, deadline=None, database=None, phases=[Phase.generate]
    )
    assert condition(find(ctx.histories(), condition, settings=no_shrinking))


@given(ctx.messages(("user", "assistant")))
def test_messages_have_the_roles_asked_for(message):
    assert set(message) == {"role", "content"}
    assert message["role"] in ("user", "assistant")


@settings(deadline=None)
@given(st.data(), st.booleans())
def test_a_rich_history_is_well_formed_but_for_calls_without_an_answer(data, unanswered):
    history = data.draw(ctx.rich_histories(max_turns=3, unanswered=unanswered))
    assert history[-1]["role"] in ("user", "tool")
    rules = {problem.rule for problem in openai_rules(history)}
    assert rules <= ({"unanswered-call"} if unanswered else set())
    ids = [call["id"] for message in history for call in tool_calls(message)]
    assert len(ids) == len(set(ids))


@settings(deadline=None)
@given(ctx.policy_histories())
def test_a_policys_history_waits_for_a_call(history):
    assert history[-1]["role"] in ("user", "tool")
    assert turn_starts(history)


def ends_open(history):
    return history[-1]["role"] == "tool" and bool(openai_rules(history))


RICH = {
    "an image": lambda history: "image_url" in str(history),
    "several parts": lambda history: any(
        isinstance(m["content"], list) and len(m["content"]) > 1 for m in history
    ),
    "a huge result": lambda history: any(len(str(m["content"])) > 2_000 for m in history),
    "a dead call": lambda history: bool(openai_rules(history)) and not ends_open(history),
    "a pending call": ends_open,
    "instructions in the middle": lambda history: any(
        m["role"] == "developer" and history[n - 1]["role"] == "assistant"
        for n, m in enumerate(history)
        if n
    ),
}


@pytest.mark.parametrize("condition", RICH.values(), ids=RICH)
def test_what_makes_histories_hard_is_drawn_in_time(condition):
    no_shrinking = settings(
        max_examples=2000, deadline=None, database=None, phases=[Phase.generate]
    )
    assert condition(find(ctx.policy_histories(), condition, settings=no_shrinking))
