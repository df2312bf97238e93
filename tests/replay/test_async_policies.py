"""Async policies, and replays inside a running event loop."""

import asyncio
import threading

import pytest
from hypothesis import given, settings

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.replay.run import Plan, run, run_async
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import LetterCounter, replayed, session, user


def plan(policy, transcript=None):
    return Plan(transcript=transcript or session(), policy=policy, counter=LetterCounter())


def newest(messages):
    return messages[-2:]


async def newest_async(messages):
    await asyncio.sleep(0)
    return messages[-2:]


class AsyncObject:
    def __init__(self):
        self.calls = 0

    async def __call__(self, messages):
        self.calls += 1
        await asyncio.sleep(0)
        return [user(f"call {self.calls}"), messages[-1]]


class SyncObject:
    def __init__(self):
        self.calls = 0

    def __call__(self, messages):
        self.calls += 1
        return [user(f"call {self.calls}"), messages[-1]]


def contents(replay):
    return replay.steps, replay.probes


@pytest.mark.parametrize("policy", [newest, newest_async])
@settings(deadline=None, max_examples=25)
@given(history=ctx.histories(max_turns=2, max_rounds=2))
def test_both_ways_of_running_give_the_same(policy, history):
    transcript = Transcript(name="t", messages=tuple(history))
    expected = contents(run(plan(newest, transcript)))
    assert contents(run(plan(policy, transcript))) == expected
    assert contents(asyncio.run(run_async(plan(policy, transcript)))) == expected


def test_stateful_policies_sync_and_async():
    expected = contents(run(plan(SyncObject())))
    assert contents(run(plan(AsyncObject()))) == expected
    assert contents(asyncio.run(run_async(plan(AsyncObject())))) == expected
    assert contents(asyncio.run(run_async(plan(SyncObject())))) == expected


def test_an_uncopyable_async_policy_from_a_factory():
    class Locked(AsyncObject):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

    assert contents(run(plan(Locked))) == contents(run(plan(SyncObject())))


def test_a_sync_policy_runs_outside_any_event_loop():
    def starts_its_own_loop(messages):
        return asyncio.run(newest_async(messages))

    assert contents(run(plan(starts_its_own_loop))) == contents(run(plan(newest)))


def test_an_async_policy_keeps_one_loop_for_the_whole_replay():
    async def policy(messages):
        return [user(f"loop {id(asyncio.get_running_loop())}")]

    replay = run(plan(policy))
    requests = [step.request for step in replay.steps]
    requests += [request for probes in replay.probes.values() for request in probes]
    assert len({request.messages[0]["content"] for request in requests}) == 1


def test_inside_a_running_loop_the_sync_form_names_the_async_one():
    async def body():
        run(plan(newest))

    with pytest.raises(UsageError) as caught:
        asyncio.run(body())
    assert str(caught.value) == (
        "a replay was called inside a running event loop: await ctx_replay.aio(…); a check that "
        "runs the policy again is put on the test as a mark"
    )


def test_errors_of_async_policies_get_their_note_and_their_output_is_checked():
    async def raises(messages):
        await asyncio.sleep(0)
        raise ValueError("no")

    async def forgets_to_return(messages):
        await asyncio.sleep(0)

    for start in (run, lambda plan: asyncio.run(run_async(plan))):
        with pytest.raises(ValueError, match="no") as caught:
            start(plan(raises))
        assert "at call 0 of transcript 'small'" in caught.value.__notes__[0]
        with pytest.raises(PolicyError, match="returned NoneType at call 0"):
            start(plan(forgets_to_return))


def test_a_replay_is_named_after_the_policy_given():
    assert replayed(newest_async).policy == "newest_async"
