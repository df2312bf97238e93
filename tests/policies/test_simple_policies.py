"""Full history, the sliding window, and user messages verbatim."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.user_messages import UserMessages

SYSTEM = {"role": "system", "content": "You help."}
DEVELOPER = {"role": "developer", "content": "Be brief."}


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


def tool_round(name, results=1):
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": f"{name}{n}", "type": "function", "function": function} for n in range(results)]
    return [
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": c["id"], "content": c["id"]} for c in calls),
    ]


def texts(messages):
    return [m["content"] or "call" for m in messages]


def chat(turns):
    pairs = [[user(f"u{n}"), answer(f"a{n}")] for n in range(turns)]
    return [SYSTEM, *(message for pair in pairs for message in pair)][:-1]


def test_full_history_is_the_same_messages_in_a_new_list():
    history = chat(2)
    sent = full_history(history)
    assert sent == history
    assert sent is not history
    assert all(a is b for a, b in zip(sent, history, strict=True))


def test_window_keeps_the_instructions_and_the_newest_messages():
    history = [SYSTEM, DEVELOPER, *chat(8)[1:]]
    assert texts(SlidingWindow(last=3)(history)) == ["You help.", "Be brief.", "u6", "a6", "u7"]
    assert SlidingWindow()(chat(6)) == chat(6)
    assert texts(SlidingWindow()(chat(9)))[:2] == ["You help.", "a2"]


def test_window_keeps_the_very_messages():
    history = chat(4)
    sent = SlidingWindow(last=2)(history)
    assert sent[0] is history[0]
    assert sent[-1] is history[-1]


def test_window_cut_moves_forward_past_results_of_a_cut_call():
    history = [SYSTEM, user("u"), *tool_round("a", 3), *tool_round("b"), user("v")]
    for last in (4, 5, 6):  # inside the first round
        assert texts(SlidingWindow(last=last)(history)) == ["You help.", "call", "b0", "v"]
    assert len(SlidingWindow(last=7)(history)) == 8  # just before its call: it stays whole


def test_window_cut_moves_back_when_the_round_is_all_there_is():
    history = [user("u"), *tool_round("a", 3)]
    for last in (1, 2, 3, 4):
        assert texts(SlidingWindow(last=last)(history)) == ["call", "a0", "a1", "a2"]


def test_window_without_a_system_message_and_of_nothing():
    assert texts(SlidingWindow(last=1)([user("u"), answer("a"), user("v")])) == ["v"]
    assert SlidingWindow()([]) == []


def test_user_messages_keep_what_the_user_said_and_the_last_turns():
    turns = [[user(f"u{n}"), *tool_round(f"t{n}"), answer(f"a{n}")] for n in range(4)]
    history = [SYSTEM, *(message for turn in turns for message in turn), user("u4")]
    assert texts(UserMessages(last_turns=2)(history)) == [
        *("You help.", "u0", "u1", "u2"),
        *("u3", "call", "t30", "a3", "u4"),
    ]
    assert UserMessages(last_turns=5)(history) == history


def test_user_messages_keep_later_instructions_but_not_an_early_greeting():
    history = [SYSTEM, answer("Hello"), user("u0"), answer("a0"), DEVELOPER, user("u1")]
    assert texts(UserMessages(last_turns=1)(history)) == ["You help.", "u0", "Be brief.", "u1"]
    assert UserMessages(last_turns=2)(history) == history


def test_user_messages_send_one_long_turn_whole():
    history = [SYSTEM, user("u"), *tool_round("a", 3), *tool_round("b")]
    assert UserMessages(last_turns=1)(history) == history


@pytest.mark.parametrize(
    "policy", [lambda: SlidingWindow(last=0), lambda: UserMessages(last_turns=0)]
)
def test_keeping_nothing_is_refused(policy):
    with pytest.raises(UsageError, match="give at least 1"):
        policy()
