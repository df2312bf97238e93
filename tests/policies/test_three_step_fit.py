"""The three-step fit of report A, in units where one character is one token."""

from itertools import pairwise

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.three_step_fit import (
    CLEARED_NOTE,
    TRIMMED_NOTE,
    CountedThreeStepFit,
    ThreeStepFit,
)
from pytest_ctxguard.tokens.estimators import MessageEstimator

NOTE = len(CLEARED_NOTE)
SAVED = 1000 - NOTE  # by clearing one result of 1,000 characters
SYSTEM = {"role": "system", "content": "s" * 10}
TASK = {"role": "user", "content": "t" * 10}
TEMPLATE = 50  # what the exact count of these tests adds to each request
PER_MESSAGE = 7


def by_characters():
    return MessageEstimator(len, overhead=0)


def estimated(**options):
    return ThreeStepFit(estimator=by_characters(), **options)


def exact(messages):
    texts = sum(map(by_characters(), messages))
    return TEMPLATE + PER_MESSAGE * len(messages) + texts


def tool_round(number, *sizes):
    calls = [
        {
            "id": f"c{number}_{n}",
            "type": "function",
            "function": {"name": "read", "arguments": "{}"},
        }
        for n in range(len(sizes))
    ]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "x" * size}
        for call, size in zip(calls, sizes, strict=True)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def agentic(*sizes):
    rounds = [message for n, size in enumerate(sizes) for message in tool_round(n, size)]
    return [SYSTEM, TASK, *rounds]


EIGHT = agentic(*[1000] * 8)
EIGHT_SIZE = 20 + 8 * 1006


def results(messages):
    return [m["content"] for m in messages if m["role"] == "tool"]


def cleared(messages):
    return "".join("-" if text == CLEARED_NOTE else "x" for text in results(messages))


# step 1


def test_below_the_budget_nothing_changes():
    sent = estimated()(EIGHT, EIGHT_SIZE)
    assert all(a is b for a, b in zip(sent, EIGHT, strict=True))
    assert sent is not EIGHT


def test_one_token_over_the_oldest_batch_of_four_is_cleared():
    sent = estimated()(EIGHT, EIGHT_SIZE - 1)
    assert cleared(sent) == "----xxxx"
    assert [m for m in sent if m["role"] != "tool"] == [m for m in EIGHT if m["role"] != "tool"]


def test_a_cleared_result_still_answers_its_call_and_the_history_is_untouched():
    sent = estimated()(EIGHT, EIGHT_SIZE - 1)
    assert sent[3] == {"role": "tool", "tool_call_id": "c0_0", "content": CLEARED_NOTE}
    assert results(EIGHT) == ["x" * 1000] * 8
    assert sent[-1] is EIGHT[-1]


def test_a_second_batch_only_when_one_is_not_enough():
    history = agentic(*[1000] * 12)
    size = 20 + 12 * 1006
    assert cleared(estimated()(history, size - 4 * SAVED)) == "----xxxxxxxx"
    assert cleared(estimated()(history, size - 4 * SAVED - 1)) == "--------xxxx"


def test_the_newest_results_within_a_quarter_stay_whole():
    # 12 results; the budget of 4,100 lets one stay whole, so that 11 may be cleared: two
    # batches are not enough (20 + 12 * 1006 - 8 * SAVED), the incomplete third one is cleared.
    history = agentic(*[1000] * 12)
    assert 20 + 12 * 1006 - 8 * SAVED > 4_100
    assert cleared(estimated()(history, 4_100)) == "-" * 11 + "x"


@pytest.mark.parametrize(("budget", "whole"), [(3_999, 1), (4_000, 1), (7_999, 1), (8_000, 2)])
def test_the_quarter_is_of_the_budget(budget, whole):
    # 80 results of 1,000 do not fit even when all but the protected ones are cleared.
    history = [SYSTEM, TASK, *tool_round(0, *[1000] * 80)]
    assert cleared(estimated()(history, budget)) == "-" * (80 - whole) + "x" * whole


def test_at_least_one_result_stays_whole_however_large():
    history = agentic(1000, 1000, 1000, 1000, 9000)
    assert cleared(estimated()(history, 10_000)) == "----x"
    assert cleared(estimated()(history, 2_000)) == "x"  # in vain, but not cleared either


def test_results_not_much_larger_than_the_note_are_left_alone():
    sizes = [1000, 2 * NOTE, 10, 1000, 1000, 1000, 1000, 1000]
    sent = estimated()(agentic(*sizes), 20 + sum(sizes) + 8 * 6 - 1)
    assert cleared(sent) == "-xx---xx"  # they do not count into the batch
    sizes[1] += 1
    sent = estimated()(agentic(*sizes), 20 + sum(sizes) + 8 * 6 - 1)
    assert cleared(sent) == "--x--xxx"


def test_an_incomplete_batch_is_left_alone_while_complete_ones_are_enough():
    sizes = [1000] * 7
    total = 20 + 7 * 1006
    assert cleared(estimated()(agentic(*sizes), total - 4 * SAVED)) == "----xxx"
    assert cleared(estimated()(agentic(*sizes), total - 4 * SAVED - 1)) == "------x"


def test_the_batch_is_a_choice():
    assert cleared(estimated(clear_batch=2)(EIGHT, EIGHT_SIZE - 1)) == "--xxxxxx"
    assert cleared(estimated(clear_batch=1)(EIGHT, EIGHT_SIZE - 1)) == "-xxxxxxx"


def test_a_cleared_history_is_not_cleared_again():
    once = estimated()(EIGHT, EIGHT_SIZE - 1)
    assert estimated()(once, EIGHT_SIZE - 1) == once


def test_the_cleared_part_stays_the_same_over_several_calls():
    policy = estimated()
    budget = 20_000
    patterns = []
    for rounds in range(1, 61):
        sent = policy(agentic(*[1000] * rounds), budget)
        assert sum(map(by_characters(), sent)) <= budget
        patterns.append(cleared(sent).count("-"))
    assert patterns == sorted(patterns)
    assert set(patterns) == set(range(0, max(patterns) + 1, 4))
    changes = sum(a != b for a, b in pairwise(patterns))
    assert max(patterns) == 48
    assert changes == 12  # one change of the prefix in four calls, not one a call


def test_parallel_results_are_cleared_one_by_one():
    history = [SYSTEM, TASK, *tool_round(0, 1000, 1000, 1000), *tool_round(1, 1000, 1000)]
    sent = estimated()(history, 4_000)
    assert cleared(sent) == "----x"
    assert len(sent) == len(history)


# step 2


def chat(turns, size=1000):
    history = [SYSTEM]
    for n in range(turns):
        history += [
            {"role": "user", "content": f"u{n}"},
            {"role": "assistant", "content": f"a{n}".ljust(size)},
        ]
    return history[:-1]


def names(messages):
    return [m["content"].strip() if m["content"] else "call" for m in messages]


def test_whole_turns_the_first_message_and_a_note():
    history = chat(6)
    kept = 10 + 2 + len(TRIMMED_NOTE) + 2 * 1002 + 2
    sent = estimated()(history, kept)
    assert names(sent) == ["s" * 10, "u0", TRIMMED_NOTE, "u3", "a3", "u4", "a4", "u5"]
    assert sent[2] == {"role": "user", "content": TRIMMED_NOTE}
    assert sent[-1] is history[-1]
    assert names(estimated()(history, kept - 1))[2:] == [TRIMMED_NOTE, "u4", "a4", "u5"]


def test_turns_are_dropped_only_when_clearing_is_not_enough_and_from_the_cleared_history():
    history = [SYSTEM, TASK, *tool_round(0, 1000), {"role": "assistant", "content": "a" * 3000}]
    for n in (1, 2):
        history += [{"role": "user", "content": f"u{n}"}, *tool_round(n, 1000)]
    assert cleared(estimated()(history, 5_000)) == "--x"
    assert len(estimated()(history, 5_000)) == len(history)
    sent = estimated()(history, 2_000)
    assert names(sent)[2:5] == [TRIMMED_NOTE, "u1", "call"]
    assert cleared(sent) == "-x"


def test_a_greeting_before_the_task_goes_with_what_is_trimmed():
    history = [SYSTEM, {"role": "assistant", "content": "Hello"}, *chat(4)[1:]]
    sent = estimated()(history, 10 + 2 + len(TRIMMED_NOTE) + 2)
    assert names(sent) == ["s" * 10, "u0", TRIMMED_NOTE, "u3"]


# step 3


def test_whole_rounds_inside_one_long_turn():
    history = agentic(*[50] * 20)  # nothing worth clearing
    kept = 20 + len(TRIMMED_NOTE) + 5 * 56
    sent = estimated()(history, kept)
    assert sent[:2] == [SYSTEM, TASK]
    assert sent[2] == {"role": "user", "content": TRIMMED_NOTE}
    assert sent[3:] == history[-10:]
    assert len(estimated()(history, kept - 1)) == len(sent) - 2


def test_a_round_of_parallel_calls_is_never_split():
    rounds = [message for n in range(6) for message in tool_round(n, 50, 50, 50)]
    history = [SYSTEM, TASK, *rounds]
    one = 3 * 56
    for budget in range(20 + len(TRIMMED_NOTE) + one, 20 + 6 * one):
        sent = estimated()(history, budget)
        kept = (budget - 20 - len(TRIMMED_NOTE)) // one
        assert len(sent) == 3 + 4 * kept


def test_rounds_of_the_current_turn_when_there_were_turns_before():
    rounds = [message for n in range(6) for message in tool_round(n, 50)]
    now = {"role": "user", "content": "now"}
    history = [*chat(3), {"role": "assistant", "content": "a" * 1000}, now, *rounds]
    sent = estimated()(history, 10 + 2 + len(TRIMMED_NOTE) + 3 + 2 * 56)
    assert names(sent)[:4] == ["s" * 10, "u0", TRIMMED_NOTE, "now"]
    assert sent[4:] == history[-4:]


def test_the_least_is_returned_when_even_that_does_not_fit():
    history = agentic(1000, 1000, 1000)
    assert estimated()(history, 1) == [
        *(SYSTEM, TASK, {"role": "user", "content": TRIMMED_NOTE}),
        *history[-2:],
    ]
    alone = [SYSTEM, TASK]
    assert estimated()(alone, 1) == alone
    last = [*chat(3)]
    assert names(estimated()(last, 1)) == ["s" * 10, "u0", TRIMMED_NOTE, "u2"]


def test_histories_without_a_user_or_a_system_message():
    rounds = agentic(50, 50, 50)[2:]
    assert names(estimated()(rounds, len(TRIMMED_NOTE) + 56)) == [TRIMMED_NOTE, "call", "x" * 50]
    sent = estimated()([SYSTEM, *rounds], 10 + len(TRIMMED_NOTE) + 56)
    assert names(sent) == ["s" * 10, TRIMMED_NOTE, "call", "x" * 50]
    assert estimated()([], 1) == []


# tools, exact counts, arguments


def test_tool_definitions_are_part_of_the_estimate():
    tools = [{"type": "function", "function": {"name": "read"}}]
    size = len('{"type": "function", "function": {"name": "read"}}')
    assert cleared(estimated()(EIGHT, EIGHT_SIZE + size, tools=tools)) == "xxxxxxxx"
    assert cleared(estimated()(EIGHT, EIGHT_SIZE + size - 1, tools=tools)) == "----xxxx"


def test_the_exact_count_decides_what_fits():
    policy = CountedThreeStepFit(estimator=by_characters())
    size = exact(EIGHT)
    assert cleared(policy(EIGHT, size, count=exact)) == "xxxxxxxx"
    assert cleared(policy(EIGHT, size - 1, count=exact)) == "----xxxx"
    assert cleared(policy(EIGHT, size - 4 * SAVED - 1, count=exact)) == "-------x"


def test_the_exact_count_decides_how_many_fill_a_quarter():
    def double(messages):
        return 2 * exact(messages)

    history = [SYSTEM, TASK, *tool_round(0, *[1000] * 80)]
    policy = CountedThreeStepFit(estimator=by_characters())
    assert cleared(policy(history, 8_000, count=exact)).count("x") == 2
    assert cleared(policy(history, 8_000, count=double)).count("x") == 1


def test_whole_requests_are_counted_a_few_dozen_times_however_long_the_history():
    counted = []

    def spy(messages):
        counted.append(len(messages))
        return exact(messages)

    CountedThreeStepFit(estimator=by_characters())(agentic(*[1000] * 400), 9_000, count=spy)
    assert 1 < len(counted) < 50


def test_an_exact_count_needs_no_request_of_a_lone_tool_message():
    def strict(messages):
        roles = [m["role"] for m in messages]
        assert roles[:2] == ["system", "user"], "this template takes nothing else"
        return exact(messages)

    sent = CountedThreeStepFit(estimator=by_characters())(EIGHT, 3_000, count=strict)
    assert strict(sent) <= 3_000


@pytest.mark.parametrize("policy", [ThreeStepFit, CountedThreeStepFit])
def test_a_batch_of_nothing_is_refused(policy):
    with pytest.raises(UsageError, match="clear_batch=0"):
        policy(clear_batch=0)


def test_estimates_are_remembered_over_a_session():
    policy = estimated()
    for rounds in range(1, 41):
        policy(agentic(*[1000 + n for n in range(rounds)]), 9_000)
    # system, task, 40 distinct results, one call text, two notes, and the result emptied
    assert policy.estimator.runs <= 2 + 40 + 1 + 2 + 1
