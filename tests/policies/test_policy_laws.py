"""The laws every reference policy keeps, on any well-formed history, at any budget."""

import copy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.policies.catalogue import Setting, reference_policies
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.protocol import bind
from pytest_ctxguard.policies.three_step_fit import (
    CLEARED_NOTE,
    TRIMMED_NOTE,
    CountedThreeStepFit,
    ThreeStepFit,
)
from pytest_ctxguard.tokens.estimators import by_script
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.messages import full_text, tool_rounds
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.wellformed import openai_rules

NAMES = ["full-history", "sliding-window", "user-messages", "three-step-fit"]
NAMES += ["three-step-fit-counted"]
FITS = NAMES[3:]
BUDGETS = st.integers(1, 3_000)


def count(messages):
    return 30 + sum(10 + by_script(full_text(message)) for message in messages)


def made(name):
    """A new policy of the catalogue; those tested here look at no transcript."""
    return reference_policies()[name].make(Setting(Transcript(name="none", messages=()), 4_000))


def run(policy, history, budget):
    return bind(policy, {"budget": budget, "count": count})(history)


def size(policy, messages):
    return count(messages) if isinstance(policy, CountedThreeStepFit) else estimate(messages)


def estimate(messages):
    return ThreeStepFit().estimator.request(messages)


def indices(sent, history):
    """Return where each message came from: itself, or the result it is a note for; else None."""
    by_id = {id(message): index for index, message in enumerate(history)}
    by_call = {m.get("tool_call_id"): i for i, m in enumerate(history) if m["role"] == "tool"}
    return [
        by_id.get(id(m), by_call[m["tool_call_id"]] if m["role"] == "tool" else None) for m in sent
    ]


@pytest.mark.parametrize("name", NAMES)
@given(history=ctx.histories(), budget=BUDGETS)
def test_well_formed_in_order_and_nothing_mutated(name, history, budget):
    before = copy.deepcopy(history)
    sent = run(made(name), history, budget)
    assert history == before
    assert openai_rules(sent) == []
    came_from = indices(sent, history)
    kept = [index for index in came_from if index is not None]
    assert kept == sorted(set(kept))
    assert sum(index is None for index in came_from) <= 1  # the one note of what was trimmed


@pytest.mark.parametrize("name", NAMES)
@given(history=ctx.histories(), budget=BUDGETS)
def test_deterministic_whatever_the_policy_saw_before_and_copyable(name, history, budget):
    policy = made(name)
    *_, before = [run(policy, history[:n], budget) for n in range(len(history))]
    sent = run(policy, copy.deepcopy(history), budget)
    assert run(copy.deepcopy(policy), history, budget) == sent
    assert run(made(name), history, budget) == sent
    assert run(policy, history[:-1], budget) == before


@pytest.mark.parametrize("name", NAMES[2:])
@given(history=ctx.histories(), budget=BUDGETS)
def test_the_system_message_and_the_current_turns_user_message_are_sent(name, history, budget):
    sent = run(made(name), history, budget)
    users = [i for i, message in enumerate(history) if message["role"] == "user"]
    kept = indices(sent, history)
    assert kept[0] == 0
    assert users[0] in kept
    assert users[-1] in kept
    assert kept[-1] == len(history) - 1


@pytest.mark.parametrize("name", FITS)
@given(history=ctx.histories(), budget=BUDGETS)
def test_within_the_budget_or_the_documented_least(name, history, budget):
    policy = made(name)
    sent = run(policy, history, budget)
    if size(policy, sent) <= budget:
        return
    # The least: instructions, first and current user message, the note, the newest round.
    rounds = tool_rounds(sent)
    assert [r.stop for r in rounds] in ([], [len(sent)])
    rest = sent[: rounds[0].start] if rounds else sent
    assert sum(m["role"] == "user" and m["content"] != TRIMMED_NOTE for m in rest) <= 2
    assert all(m["role"] != "assistant" for m in rest)
    if rounds:
        assert sent[-1] is history[-1]


@pytest.mark.parametrize("name", FITS)
@given(history=ctx.histories(), slack=st.integers(0, 50))
def test_identity_below_the_budget(name, history, slack):
    policy = made(name)
    assert run(policy, history, size(policy, history) + slack) == history


@pytest.mark.parametrize("name", FITS)
@given(history=ctx.histories(), budget=BUDGETS)
def test_the_oldest_results_worth_clearing_are_cleared_and_never_the_newest(name, history, budget):
    policy = made(name)
    sent = {m["tool_call_id"]: m for m in run(policy, history, budget) if m["role"] == "tool"}
    originals = [m for m in history if m["role"] == "tool"]
    worth = {}
    for original in originals:
        now = sent.get(original["tool_call_id"], original)
        note = {**original, "content": CLEARED_NOTE}
        if original is not originals[-1] and estimate([original]) > 2 * estimate([note]):
            worth[original["tool_call_id"]] = now
            assert now is original or now == note
        else:
            assert now is original
    cleared = [now["content"] == CLEARED_NOTE for i, now in worth.items() if i in sent]
    assert cleared == sorted(cleared, reverse=True)


@pytest.mark.parametrize("name", FITS)
@given(history=ctx.histories(kind="agentic"), budget=BUDGETS)
def test_results_cleared_at_one_call_stay_cleared_at_the_next(name, history, budget):
    policy = made(name)
    ends = [2, *(r.stop for r in tool_rounds(history))]
    calls = [run(policy, history[:end], budget) for end in ends]
    for earlier, later in pairwise(calls):
        if any(m.get("content") == TRIMMED_NOTE for m in later):
            break  # rounds were left out as well, and that moves the cut
        cleared = [m for m in earlier if m.get("content") == CLEARED_NOTE]
        assert all(m in later for m in cleared)


@given(history=ctx.histories())
def test_full_history_only_ever_extends(history):
    for n in range(1, len(history)):
        assert full_history(history)[:n] == full_history(history[:n])


@given(history=ctx.histories(), budget=st.integers(100, 3_000))
def test_within_the_budget_by_the_models_own_count(encoder, history, budget):
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]

    def exact(messages):
        return encoder.count(messages, tools=tools)

    sent = CountedThreeStepFit()(history, budget, count=exact)
    assert openai_rules(sent) == []
    least = CountedThreeStepFit()(history, 1, count=exact)
    assert exact(sent) <= max(budget, exact(least))


@pytest.fixture(scope="module")
def encoder():
    return RequestEncoder()
