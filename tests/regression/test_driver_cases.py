"""Reported policies in a real tool loop, by case id: faulty, then corrected."""

from __future__ import annotations

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.driver.limited import LimitedBackend
from pytest_ctxguard.driver.run import drive
from pytest_ctxguard.driver.values import Drive, Job
from pytest_ctxguard.policies.declare import persists
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit
from pytest_ctxguard.testing import ScriptedBackend
from pytest_ctxguard.transcript.messages import is_user
from pytest_ctxguard.transcript.wellformed import openai_rules


class Words:
    """A word is a token; a message costs nothing besides."""

    name = "words"

    def count(self, messages, *, tools=(), generation_prompt=True):
        return sum(len(str(message.get("content") or "").split()) for message in messages)


class Messages:
    """A message is a token, as for policies whose window counts messages."""

    name = "messages"

    def count(self, messages, *, tools=(), generation_prompt=True):
        return len(messages)


def looped(
    policy: Policy, messages: list, *, counter, limit: int, budget: int, steps: int, result: str
) -> Drive:
    """Run so many tool rounds and an answer; the summariser says one short sentence."""
    read = Completion("", tool_calls=(ToolCall("get", "{}"),))
    model = ScriptedBackend([*[read] * steps, Completion("Done.")])
    return drive(
        Job(messages=messages, run_tool=lambda name, arguments: result),
        policy,
        backend=LimitedBackend(model, counter, limit),
        counter=counter,
        budget=budget,
        summariser=lambda shown: "All read.",
    )


# budget-04: a window that starts at a plain user message only


class ContextWindowOverflow(Exception):
    """What the faulty manager raises."""


def plain_user_window(messages, budget):
    """Move the cut forward to the next plain user message."""
    if len(messages) <= budget:
        return messages
    for start in range(len(messages) - budget, len(messages)):
        if is_user(messages[start]):
            return messages[start:]
    raise ContextWindowOverflow


def first_and_whole_rounds(messages, budget):
    """Keep the user's request, and the newest rounds that fit."""
    start = len(messages)
    while start - 2 > 0 and len(messages) - (start - 2) + 1 <= budget:
        start -= 2
    return [messages[0], *messages[start:]]


def test_budget_04_a_legal_reduction_exists_and_is_found():
    task = [{"role": "user", "content": "Review this change"}]
    options = {"counter": Messages(), "limit": 4, "budget": 4, "steps": 3, "result": "data"}

    with pytest.raises(ContextWindowOverflow):
        looped(plain_user_window, task, **options)

    one = looped(first_and_whole_rounds, task, **options)
    assert one.finished
    assert all(openai_rules(step.request) == [] for step in one.steps)
    assert [m["role"] for m in one.steps[-1].request] == ["user", "assistant", "tool"]

    fitted = looped(CountedThreeStepFit(), task, **options)  # its note counts as a message, too
    assert fitted.finished


# loop-01: a first message above the trigger makes compaction pointless


def compact_whenever_over(messages, budget, *, count, summarise):
    """Keep message 0 verbatim; condense the rest whenever the total is over the trigger."""
    if count(messages) <= budget:
        return messages
    return [messages[0], {"role": "user", "content": summarise(messages[1:] or messages)}]


def test_loop_01_an_irreducible_floor_is_compacted_once_a_turn_at_most():
    task = [{"role": "user", "content": "task " * 1200}]
    options = {"counter": Words(), "limit": 10_000, "steps": 10, "result": "one two three"}

    faulty = looped(compact_whenever_over, task, budget=1000, **options)
    assert len(faulty.summaries) == len(faulty.steps) == 11

    corrected = looped(SummaryCompaction(), task, budget=1250, **options)  # trigger 1000
    assert corrected.finished
    assert len(corrected.summaries) <= 1


# loop-04: a compressed history that is longer


def adopt_whatever_it_is(messages, budget, *, count, summarise):
    if count(messages) <= budget:
        return messages
    return [{"role": "user", "content": summarise(messages)}]


def verbose(shown):
    return "word " * (sum(len(str(m.get("content")).split()) for m in shown) + 150)


@pytest.mark.parametrize(
    ("policy", "grows"), [(adopt_whatever_it_is, True), (SummaryCompaction(), False)]
)
def test_loop_04_a_longer_summary_is_not_adopted(policy, grows):
    history = [{"role": "user", "content": "word " * 1000} for _ in range(3)]
    history.append({"role": "user", "content": "word " * 87})
    model = ScriptedBackend([Completion("Done.")])

    one = drive(
        Job(messages=history, run_tool=lambda name, arguments: ""),
        policy,
        backend=model,
        counter=Words(),
        budget=3000,
        summariser=verbose,
    )

    [step] = one.steps
    assert one.summaries  # it was asked
    assert step.history_tokens == 3087
    assert step.tokens == (3237 if grows else 3087)


# loop-05: trigger and target alike


def at_the_cap(trigger: int, target: int) -> Policy:
    """Condense the oldest messages into one, down to the target, once beyond the trigger."""

    def policy(messages, *, summarise):
        if len(messages) <= trigger:
            return messages
        cut = len(messages) - target + 1
        return [{"role": "user", "content": summarise(messages[:cut])}, *messages[cut:]]

    return persists(policy)


@pytest.mark.parametrize(("trigger", "compactions"), [(80, 16), (96, 1)])
def test_loop_05_the_gap_between_trigger_and_target_is_what_ends_it(trigger, compactions):
    history = [{"role": "user", "content": f"message {n}"} for n in range(80)]

    one = looped(
        at_the_cap(trigger, 80),
        history,
        counter=Messages(),
        limit=200,
        budget=100,
        steps=16,  # 32 messages more
        result="data",
    )

    assert one.finished
    assert len(one.summaries) == compactions
