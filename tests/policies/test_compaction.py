"""Compaction with a summariser, and with notes: when it is asked, shown what, kept when."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pytest_ctxguard.policies.noted_compaction import NotedCompaction
from pytest_ctxguard.policies.pipeline import Pipeline
from pytest_ctxguard.policies.summary_compaction import SUMMARY_NOTE, SummaryCompaction
from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit
from pytest_ctxguard.tokens.estimators import by_script
from pytest_ctxguard.transcript.messages import content_text, full_text

SYSTEM = {"role": "system", "content": "You help."}
BUDGET = 1_000


def count(messages):
    return sum(10 + by_script(full_text(message)) for message in messages)


def user(text):
    return {"role": "user", "content": text}


def chat(turns, words=40):
    history = [SYSTEM]
    for n in range(1, turns + 1):
        history += [user(f"Question {n}."), {"role": "assistant", "content": f"{n} " * words}]
    return history[:-1]


def agentic(rounds, size=400):
    history = [SYSTEM, user("Do it all.")]
    for n in range(rounds):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        history += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        history += [{"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} " * (size // 2)}]
    return history


class Summariser:
    """Answers in order, then always the last; keeps what it was shown."""

    def __init__(self, *answers):
        self.answers = answers or ("It went well.",)
        self.shown = []

    def __call__(self, messages):
        answer = self.answers[min(len(self.shown), len(self.answers) - 1)]
        self.shown.append(list(messages))
        if isinstance(answer, Exception):
            raise answer
        return answer(messages) if callable(answer) else answer


def calls(history):
    ends = [i for i, m in enumerate(history) if i and m["role"] == "assistant"]
    return [history[:end] for end in [*ends, len(history)]]


def replay(policy, history, summarise, budget=BUDGET):
    return [policy(h, budget=budget, count=count, summarise=summarise) for h in calls(history)]


def test_below_the_trigger_the_history_is_sent_as_it_is_and_nobody_is_asked():
    summarise = Summariser()
    assert replay(SummaryCompaction(), chat(4), summarise)[-1] == chat(4)
    assert summarise.shown == []


def test_the_summary_stands_after_the_instructions_and_before_the_newest_turns():
    summarise = Summariser()
    history = chat(30)
    sent = replay(SummaryCompaction(), history, summarise)[-1]
    assert sent[0] == SYSTEM
    assert sent[1] == user(f"{SUMMARY_NOTE}\nIt went well.")
    assert sent[2:] == history[-len(sent[2:]) :]
    assert sent[2]["role"] == "user"


@pytest.mark.parametrize("history", [chat(60), agentic(60)], ids=["chat", "agentic"])
def test_every_message_was_shown_once_and_the_last_summary_with_them(history):
    summarise = Summariser(*(f"Summary {n}." for n in range(1, 40)))
    sent = replay(SummaryCompaction(), history, summarise)
    assert all(count(request) <= BUDGET for request in sent)
    assert 3 < len(summarise.shown) < 20
    shown = [content_text(m) for messages in summarise.shown for m in messages[:-1]]
    left_out = [m for m in history[1:] if m not in sent[-1] and m["role"] == "tool"]
    for message in left_out:
        assert shown.count(message["content"]) == 1
    for number, messages in enumerate(summarise.shown[1:], 1):
        assert messages[0] == user(f"{SUMMARY_NOTE}\nSummary {number}.")


def test_in_one_long_turn_the_task_stays_verbatim_and_rounds_stay_whole():
    sent = replay(SummaryCompaction(), agentic(60), Summariser())[-1]
    assert sent[2] == user("Do it all.")
    assert sent[3]["role"] == "assistant"
    assert sent[-1] == agentic(60)[-1]


def test_between_two_summaries_requests_only_grow_at_their_end():
    sent = replay(SummaryCompaction(), agentic(60), Summariser())
    broken = sum(after[: len(before)] != before for before, after in pairwise(sent))
    assert broken < 20


TOO_MUCH = "word " * 2_000


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("no model"), TimeoutError(), "", "  \n", None, TOO_MUCH],
    ids=["raises", "times out", "empty", "blank", "none", "longer than its input"],
)
def test_a_failed_summary_leaves_the_history_unchanged(answer):
    summarise = Summariser(answer)
    history = chat(40)
    assert replay(SummaryCompaction(), history, summarise)[-1] == history
    assert 1 < len(summarise.shown) < 12  # each attempt waits until the request has grown


def test_followed_by_a_fit_it_keeps_to_the_budget_whatever_the_summariser_says():
    policy = Pipeline(SummaryCompaction(), CountedThreeStepFit())
    sent = replay(policy, chat(40), Summariser(RuntimeError("no model")))
    assert max(map(count, sent)) <= BUDGET
    assert replay(policy, chat(40), Summariser()) == replay(
        SummaryCompaction(), chat(40), Summariser()
    )


def test_after_a_failure_the_next_attempt_goes_on():
    summarise = Summariser(RuntimeError("once"), "It went well.")
    sent = replay(SummaryCompaction(), chat(30), summarise)[-1]
    assert sent[1] == user(f"{SUMMARY_NOTE}\nIt went well.")


def test_a_fixed_part_beyond_the_trigger_is_no_reason_to_ask_at_every_call():
    summarise = Summariser()
    history = [SYSTEM, user("word " * 1_000), *agentic(30, size=40)[2:]]
    replay(SummaryCompaction(), history, summarise)
    assert len(summarise.shown) < 10


def test_a_new_history_or_budget_begins_anew():
    policy, summarise = SummaryCompaction(), Summariser(lambda messages: full_text(messages[0]))
    one = replay(policy, chat(30), summarise)[-1]
    other = [SYSTEM, user("Other."), *chat(30)[2:]]
    assert replay(policy, other, summarise)[-1][1]["content"].endswith("\nOther.")
    assert replay(policy, chat(30), summarise, budget=10_000)[-1] == chat(30)
    assert replay(policy, chat(30), summarise)[-1] == one


def test_what_is_asked_on_the_side_does_not_change_what_is_sent_later():
    summarise = Summariser(lambda messages: f"{len(messages)} shown")
    history = chat(40)
    expected = replay(SummaryCompaction(), history, summarise)
    policy = SummaryCompaction()
    for before, request in zip(calls(history), expected, strict=True):
        policy([*before[:-1], user("word " * 300)], BUDGET, count=count, summarise=summarise)
        assert policy(before, BUDGET, count=count, summarise=summarise) == request


# notes


def note_taker(messages):
    if len(messages) == 2 and "one short line" in messages[-1]["content"]:
        said = messages[0]["content"]
        return f"rule: {said}" if said.endswith(("3.", "5.")) else "NONE."
    return "It went well."


def test_notes_stand_before_the_summary_and_none_is_no_note():
    sent = replay(NotedCompaction(), chat(30), note_taker)[-1]
    assert sent[1]["content"].splitlines()[:3] == [
        "[Notes taken from the messages left out:]",
        "- rule: Question 3.",
        "- rule: Question 5.",
    ]
    assert sent[2] == user(f"{SUMMARY_NOTE}\nIt went well.")


def test_notes_are_one_line_each_and_the_oldest_go_when_they_are_too_much():
    def wordy(messages):
        if "one short line" in messages[-1]["content"]:
            return f"{messages[0]['content']} {'word ' * 12}\nand a second line"
        return "It went well."

    sent = replay(NotedCompaction(), chat(60), wordy)
    assert all(count(request) <= BUDGET for request in sent)
    lines = sent[-1][1]["content"].splitlines()
    assert count([sent[-1][1]]) <= BUDGET // 5
    assert "second line" not in sent[-1][1]["content"]
    numbers = [int(line.split()[2].rstrip(".")) for line in lines[1:]]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] > 1


def test_each_user_message_is_asked_about_once_and_a_failing_note_taker_costs_only_notes():
    asked = []

    def failing(messages):
        if "one short line" in messages[-1]["content"]:
            asked.append(messages[0]["content"])
            raise RuntimeError("no model")
        return "It went well."

    sent = replay(NotedCompaction(), chat(30), failing)[-1]
    assert sent[1] == user(f"{SUMMARY_NOTE}\nIt went well.")
    assert len(asked) == len(set(asked)) > 5
