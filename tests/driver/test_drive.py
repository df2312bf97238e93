"""The tool loop around a policy: how it ends, what it stores, what the policy may do to it."""

from __future__ import annotations

import asyncio

import pytest

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.driver.limited import LimitedBackend
from pytest_ctxguard.driver.run import drive
from pytest_ctxguard.driver.values import Job
from pytest_ctxguard.errors import BackendError, PolicyError, PromptTooLong, UsageError
from pytest_ctxguard.policies.declare import mutates, persists
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.testing import ScriptedBackend

TASK = {"role": "user", "content": "Count to three."}
TOOLS = ({"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},)


class Words:
    """Counts words, ten for each message, and one for each tool."""

    name = "words"

    def count(self, messages, *, tools=(), generation_prompt=True):
        texts = (str(message.get("content") or "") for message in messages)
        return len(tools) + sum(10 + len(text.split()) for text in texts)


def add(name, arguments):
    return f"{name} {arguments['n'] + 1} " * 10


def calling(*numbers):
    calls = tuple(ToolCall("add", f'{{"n": {n}}}') for n in numbers)
    return Completion(text="", tool_calls=calls)


ANSWERS = (calling(0), calling(1, 2), Completion("Three."))


def driven(policy=full_history, answers=ANSWERS, **given):
    options = {"limit": 10_000, "run_tool": add, **given}
    model = LimitedBackend(ScriptedBackend(list(answers)), Words(), options.pop("limit"))
    job = Job(messages=(TASK,), tools=TOOLS, run_tool=options.pop("run_tool"))
    return drive(job, policy, backend=model, counter=Words(), **options)


def test_it_runs_every_tool_and_ends_with_the_answer():
    one = driven()
    assert one.outcome == "finished"
    assert one.answer == "Three."
    assert one.refusal is None
    assert [call.arguments for call in one.tool_calls] == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    roles = [message["role"] for message in one.history]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    assert one.history[2]["tool_call_id"] == one.history[1]["tool_calls"][0]["id"] == "call_1_1"
    assert one.history[2]["content"] == add("add", {"n": 0})
    assert [step.tokens for step in one.steps] == [14, 54, 124]
    assert one.steps[2].request == one.history[:6]


def test_it_is_refused_at_the_limit_and_not_before():
    assert driven(limit=124).finished
    one = driven(limit=123)
    assert one.outcome == "refused"
    assert (one.refusal.tokens, one.refusal.limit) == (124, 123)
    assert one.answer is None
    assert [step.completion is None for step in one.steps] == [False, False, True]


def test_it_runs_out_of_calls():
    one = driven(calls=2)
    assert one.outcome == "out of calls"
    assert len(one.steps) == 2
    with pytest.raises(UsageError, match="at least one call"):
        driven(calls=0)


def test_the_policy_decides_what_is_sent_and_the_history_keeps_everything():
    one = driven(SlidingWindow(last=2), limit=71)
    assert one.finished
    assert [len(step.request) for step in one.steps] == [1, 2, 3]
    assert [step.history_tokens for step in one.steps] == [14, 54, 124]
    assert len(one.history) == 7


def test_what_a_policy_persists_is_the_history_from_then_on():
    one = driven(persists(SlidingWindow(last=2)), limit=71)
    assert one.finished
    assert [m["role"] for m in one.history] == ["assistant", "tool", "tool", "assistant"]
    assert one.history[0]["tool_calls"][0]["function"]["arguments"] == '{"n": 1}'


def test_a_policy_that_spoils_the_history_spoils_it():
    def clear(messages):
        for message in messages[1:]:
            message["content"] = "gone"

    one = driven(mutates(clear))
    assert [m["content"] for m in one.history[1:]] == ["gone"] * 5 + ["Three."]


def test_an_async_policy_and_a_factory_of_one():
    async def policy(messages, *, count, tools):
        assert count(messages) > len(tools) == 1
        return messages

    assert driven(policy).finished
    assert driven(lambda: policy).finished


def test_inside_a_running_loop_it_says_what_to_do():
    async def body():
        driven(SlidingWindow(last=3))

    with pytest.raises(UsageError, match="drive was called inside a running event loop"):
        asyncio.run(body())


def test_what_the_summariser_was_asked_is_kept():
    answers = [*(calling(n) for n in range(9)), Completion("Nine.")]
    one = driven(
        SummaryCompaction(), answers, budget=160, limit=160, summariser=lambda shown: "Added."
    )
    assert one.finished
    assert one.summaries
    assert all(summary.text == "Added." for summary in one.summaries)
    assert sum(len(step.summaries) for step in one.steps) == len(one.summaries)


def test_arguments_that_are_no_object_are_answered_and_not_run():
    def never(name, arguments):
        raise AssertionError(name)

    bad = [Completion("", tool_calls=(ToolCall("add", text),)) for text in ("{", "[1]")]
    one = driven(answers=[*bad, Completion("Sorry.")], run_tool=never)
    results = [m["content"] for m in one.history if m["role"] == "tool"]
    assert results == ["error: the arguments are no JSON object"] * 2


def test_a_failing_model_and_a_policy_that_returns_no_messages_are_errors():
    with pytest.raises(BackendError, match="the script has 1 answers"):
        driven(answers=[calling(0)])
    for wrong in (None, "text", [1]):
        with pytest.raises(PolicyError, match="returns the list of messages"):
            driven(lambda messages, wrong=wrong: wrong)


def test_a_policy_that_summarises_for_ever_is_ended():
    def endless(messages, *, summarise):
        while True:
            summarise(messages)

    with pytest.raises(PolicyError, match="did not end"):
        driven(endless, summariser=lambda shown: "")


def test_a_limited_backend_counts_the_tools_it_is_offered():
    model = LimitedBackend(ScriptedBackend(["hi", "hi"]), Words(), 13)
    with pytest.raises(PromptTooLong):
        model.complete([TASK], tools=TOOLS)
    assert model.complete([TASK], tools=TOOLS, tool_choice="none").prompt_tokens == 13
    assert model.identity == {"model": "scripted", "numerics": "exact"}
