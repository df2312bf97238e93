"""Policies that persist their cut, edit what they are given, or keep state."""

import asyncio
import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.policies.declare import mutates, persists
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.transcript.model import Transcript
from tests.factories import LetterCounter, employee, replayed, session, shard, user


class Handed:
    """Keeps what it was given at each call, and sends the newest messages of that."""

    def __init__(self, last=2):
        self.seen, self.last = [], last

    def __call__(self, messages):
        self.seen.append(copy.deepcopy(messages))
        return messages[-self.last :]


def test_a_cut_that_persists_is_what_the_next_call_is_handed():
    policy = Handed()
    replay = replayed(persists(policy), session(facts=()))
    messages = session().messages
    assert policy.seen == [
        list(messages[:2]),
        list(messages[:4]),
        [*messages[2:4], *messages[4:6]],
        [*messages[4:6], *messages[6:8]],
    ]
    assert replay.persists
    assert replay.policy == "Handed"


def test_origins_lead_to_the_uncut_transcript():
    replay = replayed(persists(Handed(3)), session(facts=()))
    assert [[o.index for o in step.request.origins] for step in replay.steps] == [
        [0, 1], [1, 2, 3], [3, 4, 5], [5, 6, 7],
    ]  # fmt: skip
    assert not any(o.edited for step in replay.steps for o in step.request.origins)


def test_what_was_given_and_what_the_history_is_are_counted_apart():
    replay = replayed(persists(Handed()), session(facts=()))
    whole = replayed(list, session(facts=()))
    assert [s.history_tokens for s in replay.steps] == [s.history_tokens for s in whole.steps]
    last = replay.final.request
    counter = LetterCounter()
    tools = session().tools
    assert last.given_tokens == counter.count(session().messages[4:8], tools=tools)
    assert last.tokens == counter.count(session().messages[6:8], tools=tools)
    assert (last.cut, last.acted) == (True, True)


def test_a_call_that_cuts_nothing_more_sends_less_than_the_history_all_the_same():
    def halves(messages):
        return messages[-2:] if len(messages) == 4 else messages

    replay = replayed(persists(halves), session(facts=()))
    assert [s.request.cut for s in replay.steps] == [False, True, True, True]
    late = replayed(persists(lambda m: m[2:] if len(m) == 4 else list(m)), session(facts=()))
    assert [s.request.cut for s in late.steps] == [False, True, True, True]
    once = replayed(persists(lambda m: m[1:] if m[0]["role"] == "system" else m), session(facts=()))
    assert [s.request.cut for s in once.steps] == [True, False, False, False]
    assert all(s.request.acted for s in once.steps)
    assert once.final.request.given_tokens == once.final.request.tokens


def test_what_a_policy_put_in_stays_put_in_and_edits_stay_edits():
    def notes(messages):
        if messages[0]["role"] == "system":
            return [user("note"), {**messages[-1], "content": "cut"}]
        return list(messages)

    transcript = session(facts=())

    @persists
    def clears(messages):
        return [{**m, "content": "[cleared]"} if m["role"] == "tool" else m for m in messages]

    cleared = replayed(clears, transcript)
    assert cleared.final.request.origins[5] == Origin(5, edited=True)
    noted = replayed(persists(notes), transcript)
    assert noted.final.request.origins[:3] == (Origin(None), Origin(None), Origin(2))


def test_a_message_that_was_cut_is_known_when_the_policy_brings_it_back():
    class Remembers:
        def __init__(self):
            self.first = None

        def __call__(self, messages):
            self.first = self.first or copy.deepcopy(messages[1])
            return [self.first, messages[-1]]

    replay = replayed(persists(Remembers()), session(facts=()))
    assert replay.final.request.origins == (Origin(1), Origin(7))


def test_a_probe_starts_from_what_was_stored_before_the_call_it_replaces():
    transcript = session(facts=(employee(asked_at=3), shard()))
    policy = Handed()
    replay = replayed(persists(policy), transcript)
    messages = transcript.messages
    assert [r.messages for r in replay.probes["employee"]] == [
        (messages[2], user("Which employee number?")),
        (messages[2], user("Who opens the ticket?")),
    ]
    assert [o.index for o in replay.probes["shard"][0].origins] == [7, 8]
    assert len(policy.seen) == 4


def test_an_uncopyable_policy_that_persists_is_brought_to_the_same_point():
    class Uncopyable(Handed):
        def __deepcopy__(self, memo):
            raise TypeError("no")

    transcript = session(facts=(employee(asked_at=3), shard()))
    assert replayed(persists(lambda: Uncopyable()), transcript).probes == (
        replayed(persists(Handed()), transcript).probes
    )


def test_persisting_async():
    class Async(Handed):
        async def __call__(self, messages):
            await asyncio.sleep(0)
            return super().__call__(messages)

    expected = replayed(persists(Handed()))
    assert replayed(persists(Async())).steps == expected.steps


def cuts_in_place(messages):
    del messages[:-2]


async def cuts_in_place_async(messages):
    await asyncio.sleep(0)
    del messages[:-2]


@pytest.mark.parametrize("policy", [cuts_in_place, cuts_in_place_async])
def test_the_list_a_declared_mutator_edited_is_the_request(policy):
    replay = replayed(mutates(policy))
    expected = replayed(lambda messages: messages[-2:])
    assert [s.request.messages for s in replay.steps] == (
        [s.request.messages for s in expected.steps]
    )
    assert not any(s.request.mutated or s.request.aliased for s in replay.steps)


def test_a_declared_mutator_gets_the_uncut_history_each_time_unless_it_persists_too():
    lengths = []

    def edits(messages):
        lengths.append(len(messages))
        messages[-1]["content"] = "edited"
        del messages[:-1]

    replayed(mutates(edits), session(facts=()))
    assert lengths == [2, 4, 6, 8]
    lengths.clear()
    replay = replayed(persists(mutates(edits)), session(facts=()))
    assert lengths == [2, 3, 3, 3]
    assert session().messages[7]["content"] == "Open a ticket."
    assert replay.final.request.origins == (Origin(7, edited=True),)


def test_the_very_list_is_noticed_when_it_comes_back():
    assert [s.request.aliased for s in replayed(lambda messages: messages).steps] == [True] * 4
    assert [s.request.aliased for s in replayed(list).steps] == [False] * 4


@settings(deadline=None, max_examples=50)
@given(ctx.histories(max_turns=3, max_rounds=3), st.integers(1, 5))
def test_a_window_sends_the_same_whether_its_cut_persists_or_not(history, last):
    def plan(policy):
        transcript = Transcript(name="t", messages=tuple(history))
        return Plan(transcript=transcript, policy=policy, counter=LetterCounter())

    def policy(messages):
        return messages[-last:]

    def sent(replay):
        return [(s.request.messages, s.request.tokens, s.request.acted) for s in replay.steps]

    assert sent(run(plan(persists(policy)))) == sent(run(plan(policy)))
    for step in run(plan(persists(policy))).steps:
        for message, origin in zip(step.request.messages, step.request.origins, strict=True):
            assert message == history[origin.index]
