"""What a policy put into a request, and what of it was sent before."""

from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.policies.catalogue import Setting, reference_policies
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import (
    assistant,
    call,
    calling,
    encoder,
    replayed,
    result,
    session,
    system,
    tool,
    user,
)

SAID = "My employee number is 4417."
LAST = "Open a ticket."
SYSTEM = "You run payments."
QUIET = [entry for entry in reference_policies().values() if not entry.summarises]


def final(policy, **changes):
    replay = replayed(policy, session(**changes))
    found = replay.buckets()
    assert found.total == replay.tokens.final
    return found


def test_full_history_puts_nothing_in():
    found = final(lambda messages: messages)
    assert (found.pinned, found.summary) == (0, 0)


def test_a_user_message_repeated_word_for_word_is_pinned():
    block = f"Kept:\n- {SAID}"
    found = final(lambda messages: [messages[0], user(block), messages[-1]])
    assert (found.pinned, found.summary, found.conversation) == (len(block), 0, len(LAST) + 1)


def test_other_text_is_a_summary():
    text = "They gave a number; a shard is slow."
    found = final(lambda messages: [messages[0], user(text), assistant("Ok."), messages[-1]])
    assert (found.pinned, found.summary) == (0, len(text) + len("Ok."))


def test_a_few_letters_that_a_user_said_make_no_copy():
    messages = (system(), user("go on"), assistant("Yes."), user(LAST))
    found = final(lambda m: [m[0], user("They go on."), m[-1]], messages=messages, facts=())
    assert (found.pinned, found.summary) == (0, len("They go on."))


def test_a_system_message_that_grows_counts_what_it_was_and_what_was_added():
    found = final(
        lambda messages: [{**messages[0], "content": f"{SYSTEM}\n4417"}, *messages[1:]],
    )
    assert (found.system, found.pinned) == (len(SYSTEM), len("\n4417"))


def test_a_message_changed_in_place_counts_what_was_added():
    def policy(messages):
        messages[-1]["content"] += " Be brief."
        return messages

    found = final(policy)
    assert (found.pinned, found.summary) == (0, len(" Be brief."))
    assert found.conversation > len(LAST)


def test_a_message_cut_in_place_stays_what_it_was():
    def policy(messages):
        messages[1]["content"] = "My …"
        return messages

    found = final(policy)
    assert (found.pinned, found.summary) == (0, 0)


def test_a_system_message_of_the_policys_own_is_pinned_and_the_templates_frame_is_not():
    messages = session().messages[1:]
    transcript = session(messages=messages, facts=())
    replay = replayed(
        lambda m: [system("Be brief, and name the shard."), *m], transcript, counter=encoder()
    )
    found = replay.buckets()
    assert found.total == replay.tokens.final
    assert found.pinned == len(encoder().encode_text("Be brief, and name the shard."))


def test_a_system_message_put_before_the_sessions_own_is_pinned_and_that_stays_system():
    found = final(lambda messages: [system("Be brief."), *messages])
    assert (found.system, found.pinned) == (len(SYSTEM), len("Be brief."))


def test_a_cleared_tool_result_is_still_one():
    def policy(messages):
        return [{**m, "content": "[cleared]"} if m["role"] == "tool" else m for m in messages]

    found = final(policy)
    assert (found.tool_results, found.summary) == (len("[cleared]"), 0)


def test_calls_know_their_turn():
    found = replayed(lambda messages: messages).bucket_use
    assert [(each.call, each.turn) for each in found.calls] == [(0, 1), (1, 2), (2, 2), (3, 3)]
    assert [each.tokens for each in found.calls][-1] == final(lambda messages: messages)


def test_full_history_resends_all_that_the_call_before_sent_but_the_generation_prompt():
    replay = replayed(lambda messages: messages)
    found = replay.bucket_use
    sent = replay.tokens.by_call
    assert [each.resent for each in found.calls] == [0, *(tokens - 1 for tokens in sent[:-1])]
    assert found.growth == (sum(sent[:-1]) - 3) / sum(sent)


def test_a_message_that_changes_is_not_resent():
    def policy(messages):
        return [system(f"It is call {len(messages)}."), *messages[1:]]

    full = replayed(lambda messages: messages).bucket_use
    found = replayed(policy).bucket_use
    expected = [0, *(each.resent - len(SYSTEM) for each in full.calls[1:])]
    assert [each.resent for each in found.calls] == expected


def test_a_message_sent_twice_now_and_once_before_is_resent_once():
    def policy(messages):
        return [*messages, user("again")] if len(messages) < 3 else [user("again"), user("again")]

    found = replayed(policy, session(tools=())).bucket_use
    assert [each.resent for each in found.calls] == [0, 5, 10, 10]


@pytest.mark.parametrize("entry", QUIET, ids=lambda entry: entry.name)
@settings(deadline=None, max_examples=15)
@given(ctx.histories(max_turns=4, max_rounds=3), st.integers(100, 800))
def test_they_add_up_under_every_policy_and_none_is_negative(entry, messages, budget):
    transcript = Transcript(name="drawn", messages=tuple(messages), tools=(tool(),))
    if not transcript.calls:
        return
    policy = entry.make(Setting(transcript, budget))
    replay = replayed(policy, transcript, counter=encoder(), budget=budget)
    found = replay.bucket_use
    assert tuple(each.tokens.total for each in found.calls) == replay.tokens.by_call
    assert min(part for each in found.calls for part in astuple(each.tokens)) >= 0
    assert all(0 <= each.resent < each.tokens.total for each in found.calls)


def test_tokens_05_what_an_agent_writes_through_tool_arguments_is_counted_as_said():
    lines = "line of code\n" * 50
    written = calling(call("w", "write_file", path="src/app.py", content=lines))
    messages = (user("write it"), written, result("ok", "w"), user("go on"))
    found = replayed(lambda m: m, session(messages=messages, facts=()), counter=encoder())
    assert found.buckets().conversation > len(encoder().encode_text(lines))
    assert found.buckets().tool_results < 20
