"""Running a replay again, from the policy as it stood before the first run."""

import threading

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.declare import persists
from pytest_ctxguard.replay.again import repeater
from pytest_ctxguard.replay.run import Plan, run
from tests.factories import LetterCounter, session, user


class CountsItsCalls:
    def __init__(self):
        self.seen = 0

    def __call__(self, messages, summarise):
        self.seen += 1
        return [user(f"{self.seen} {summarise(messages)}")]


def closure():
    seen = []

    def policy(messages, summarise):
        seen.append(1)
        return [user(f"{len(seen)} {summarise(messages)}")]

    return policy


def texts(replay):
    return [step.request.messages[0]["content"] for step in replay.steps]


def plan_of(policy):
    return Plan(
        transcript=session(facts=()),
        policy=policy,
        counter=LetterCounter(),
        summariser=lambda shown: "a",
    )


@pytest.mark.parametrize(
    "policy",
    [CountsItsCalls(), closure(), lambda: CountsItsCalls(), persists(CountsItsCalls())],
    ids=["object", "closure", "factory", "declared"],
)
def test_each_run_begins_where_the_first_began(policy):
    plan = plan_of(policy)
    again = repeater(plan)
    first = run(plan)
    assert texts(first) == ["1 a", "2 a", "3 a", "4 a"]
    for _ in range(2):
        second = again(summariser=lambda shown: "b")
        assert texts(second) == ["1 b", "2 b", "3 b", "4 b"]
        assert (second.policy, second.persists) == (first.policy, first.persists)


def test_another_transcript_and_the_same_summariser():
    again = repeater(plan_of(CountsItsCalls()))
    short = session(messages=session().messages[:2], facts=())
    assert texts(again(transcript=short)) == ["1 a"]


class Locked(CountsItsCalls):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def test_what_cannot_be_copied_is_run_once_and_says_so_then():
    plan = plan_of(Locked())
    again = repeater(plan)
    assert len(run(plan).steps) == 4
    with pytest.raises(UsageError) as caught:
        again(summariser=lambda shown: "b")
    assert str(caught.value).startswith(
        "this replay cannot be run again: policy Locked cannot be copied"
    )
    assert "Give a factory instead" in str(caught.value)
    assert texts(repeater(plan_of(Locked))(summariser=lambda shown: "b"))[0] == "1 b"
