"""What a policy called: its summariser and the counter, recorded with each request."""

import asyncio
import copy
from contextlib import suppress

import pytest

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.replay.calls import Counted, Summary
from pytest_ctxguard.replay.run import Plan, run, run_async
from pytest_ctxguard.testing import ScriptedSummariser
from tests.factories import LetterCounter, replayed, session, tool, user
from tests.summarising import Compacts, CompactsAsync, long_session


def summed_up(messages, *, summarise):
    return [user(summarise(messages[:-1]) or "nothing"), messages[-1]]


async def summed_up_async(messages, *, summarise):
    return [user(await summarise(messages[:-1]) or "nothing"), messages[-1]]


def short(shown):
    return "short"


async def short_async(shown):
    await asyncio.sleep(0)
    return "short"


def test_what_was_shown_and_returned_stands_with_each_request():
    replay = replayed(summed_up, session(facts=()), summariser=short)
    messages = session().messages
    assert replay.summarises
    assert replay.summaries == tuple(
        (Summary(shown=messages[:n], tokens=LetterCounter().count(messages[:n]), text="short"),)
        for n in (1, 3, 5, 7)
    )
    assert replay.final.request.messages[0] == user("short")
    assert replay.summary_use.input == sum(
        LetterCounter().count(messages[:n]) for n in (1, 3, 5, 7)
    )


@pytest.mark.parametrize("summariser", [short, short_async])
def test_an_async_policy_awaits_either_kind(summariser):
    expected = replayed(summed_up, summariser=short)
    replay = replayed(summed_up_async, summariser=summariser)
    assert (replay.steps, replay.probes) == (expected.steps, expected.probes)
    plan = Plan(
        transcript=session(), policy=summed_up_async, counter=LetterCounter(), summariser=summariser
    )
    assert asyncio.run(run_async(plan)).steps == expected.steps


def test_a_policy_that_does_not_await_needs_a_sync_summariser():
    with pytest.raises(UsageError) as caught:
        replayed(summed_up, summariser=short_async)
    assert str(caught.value) == (
        "the summariser is async, and the policy calls it without awaiting. Give a sync one, or "
        "make the policy an `async def`."
    )


def test_a_whole_compaction_is_the_same_sync_and_async():
    fields = {"budget": 300, "summariser": ScriptedSummariser()}
    sync = replayed(Compacts, long_session(), **fields)
    fields = {"budget": 300, "summariser": ScriptedSummariser()}
    assert replayed(CompactsAsync, long_session(), **fields).summaries == sync.summaries
    assert sum(map(bool, sync.summaries)) >= 2


def test_a_text_is_one_user_message():
    def policy(messages, summarise):
        return [user(summarise("all of it"))]

    replay = replayed(policy, session(facts=()), summariser=short)
    assert replay.summaries[0][0].shown == (user("all of it"),)
    assert replay.summaries[0][0].tokens == len("all of it") + 1


def test_what_is_shown_is_kept_as_it_was():
    def policy(messages, summarise):
        mine = copy.deepcopy(messages)
        summarise(mine)
        mine[0]["content"] = "changed"
        return list(messages)

    replay = replayed(policy, session(facts=()), summariser=short)
    assert replay.summaries[0][0].shown == session().messages[:2]


def test_further_arguments_reach_a_summariser_that_names_them():
    heard = []

    def knows(shown, *, max_tokens):
        heard.append(max_tokens)
        return "short"

    def takes_all(shown, **options):
        heard.append(options)
        return "short"

    def policy(messages, summarise):
        summarise(messages, max_tokens=64, tools=[tool()])
        return list(messages)

    for summariser in (short, knows, takes_all):
        replay = replayed(policy, session(facts=()), summariser=summariser)
        summary = replay.summaries[0][0]
        assert (summary.max_tokens, summary.tools) == (64, (tool(),))
        assert summary.tokens == LetterCounter().count(session().messages[:2], tools=[tool()])
    assert heard[0] == 64
    assert heard[-1] == {"max_tokens": 64, "tools": [tool()]}


def test_what_a_summariser_raises_is_recorded_and_raised():
    def fails(shown):
        raise ValueError("no") from KeyError("why")

    def policy(messages, summarise):
        with pytest.raises(ValueError, match="no") as caught:
            summarise(messages)
        assert isinstance(caught.value.__cause__, KeyError)
        return list(messages)

    replay = replayed(policy, session(facts=()), summariser=fails)
    summary = replay.summaries[0][0]
    assert (summary.text, summary.raised, summary.failed) == (None, "ValueError: no", True)
    with pytest.raises(ValueError, match="no") as caught:
        replayed(summed_up, summariser=fails)
    assert "raised by policy summed_up at call 0" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="no"):
        replayed(summed_up_async, summariser=fails)


@pytest.mark.parametrize(("text", "failed"), [(None, True), (" \n", True), ("x", False)])
def test_a_summary_without_text_failed(text, failed):
    replay = replayed(summed_up, session(facts=()), summariser=lambda shown: text)
    assert replay.summaries[0][0].failed == failed


def test_probes_have_summaries_of_their_own():
    replay = replayed(summed_up, summariser=short)
    assert [len(r.summaries) for r in replay.probes["employee"]] == [1, 1]
    assert replay.probes["shard"][0].summaries[0].shown == session().messages


def test_a_policy_may_keep_the_summariser_in_its_state():
    class Keeps:
        def __init__(self, summarise):
            self.summarise = summarise

        def __call__(self, messages):
            return [user(self.summarise(messages))]

    replay = replayed(lambda summarise: Keeps(summarise), summariser=short)
    assert [len(summaries) for summaries in replay.summaries] == [1] * 4
    assert len(replay.probes["shard"][0].summaries) == 1


REFUSED = {
    "no function": ("x", "summariser='x' cannot be called; it is a function"),
    "no text": (len, "the summariser len returned int; it returns the summary as text, or None "
                "where the model gave none"),
}  # fmt: skip


@pytest.mark.parametrize(("summariser", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_summariser(summariser, message):
    with pytest.raises(UsageError) as caught:
        replayed(summed_up, summariser=summariser)
    assert str(caught.value) == message


def test_a_builtin_without_a_signature_is_just_called():
    replay = replayed(lambda messages, summarise: [user(summarise("all"))], summariser=str)
    assert replay.final.request.messages == (user("all"),)


def test_what_cannot_be_shown():
    def policy(messages, summarise):
        return [user(summarise(7))]

    with pytest.raises(PolicyError, match="summarise was given int; it takes a list"):
        replayed(policy, summariser=short)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_policy_that_asks_for_ever_is_stopped(is_async):
    def endless(messages, summarise):
        while True:
            with suppress(Exception):
                summarise(messages)

    async def endless_async(messages, summarise):
        while True:
            with suppress(Exception):
                await summarise(messages)

    policy = endless_async if is_async else endless
    with pytest.raises(PolicyError) as caught:
        replayed(policy, summariser=short)
    assert str(caught.value) == (
        f"policy {policy.__qualname__} did not end at call 0: 1000 summariser calls for one request"
    )
    if is_async:
        plan = Plan(transcript=session(), policy=policy, counter=LetterCounter(), summariser=short)
        with pytest.raises(PolicyError, match="did not end at call 0"):
            asyncio.run(run_async(plan))


def test_what_the_policy_counted_is_known():
    def policy(messages, count):
        if len(messages) > 4:
            count(messages[3:5])
            count(messages[1:2])
        return list(messages)

    replay = replayed(policy, session(facts=()))
    assert replay.steps[1].request.counted == Counted()
    assert replay.final.request.counted == Counted(
        2, frozenset({"user", "assistant"}), tool_calls=True
    )


def test_a_replay_without_a_summariser():
    replay = run(Plan(transcript=session(), policy=list, counter=LetterCounter()))
    assert not replay.summarises
    assert replay.summaries == ((),) * 4
