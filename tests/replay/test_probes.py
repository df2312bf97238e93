"""Probes: asked of the policy as it stood before the call they replace, one copy each."""

import threading

import pytest

from pytest_ctxguard.errors import PolicyError
from tests.factories import assistant, employee, replayed, session, shard, user


class CountsItsCalls:
    """Says in each request how many calls this very object has seen."""

    def __init__(self):
        self.seen = []

    def __call__(self, messages):
        self.seen.append(len(messages))
        return [user(f"calls seen: {self.seen}"), messages[-1]]


def first_texts(requests):
    return [request.messages[0]["content"] for request in requests]


def test_a_probe_replaces_the_message_it_is_asked_at():
    replay = replayed(lambda messages: messages)
    asked = [request.messages for request in replay.probes["employee"]]
    assert asked == [
        (*session().messages[:7], user("Which employee number?")),
        (*session().messages[:7], user("Who opens the ticket?")),
    ]


def test_a_probe_is_appended_where_no_message_is_named():
    replay = replayed(lambda messages: messages)
    assert [request.messages for request in replay.probes["shard"]] == [
        (*session().messages, user("Which shard?"))
    ]


def test_every_wording_starts_from_the_policy_before_the_call_it_replaces():
    replay = replayed(CountsItsCalls())
    assert first_texts(replay.probes["employee"]) == ["calls seen: [2, 4, 6, 8]"] * 2
    assert first_texts(replay.probes["shard"]) == ["calls seen: [2, 4, 6, 8, 9]"]


def test_a_probe_in_the_middle_forgets_what_came_later():
    transcript = session(facts=(employee(asked_at=3), shard()))
    replay = replayed(CountsItsCalls(), transcript)
    assert first_texts(replay.probes["employee"]) == ["calls seen: [2, 4]"] * 2
    assert first_texts(replay.probes["shard"]) == ["calls seen: [2, 4, 6, 8, 9]"]
    assert [len(r.messages) for r in replay.probes["employee"]] == [2, 2]


def test_probes_leave_the_calls_as_they_were():
    policy = CountsItsCalls()
    replay = replayed(policy)
    assert policy.seen == [2, 4, 6, 8]
    assert first_texts([replay.final.request]) == ["calls seen: [2, 4, 6, 8]"]


def test_a_probe_after_an_answered_last_turn():
    messages = (*session().messages, assistant("Opened."))
    replay = replayed(CountsItsCalls(), session(messages=messages, facts=(shard(),)))
    assert first_texts(replay.probes["shard"]) == ["calls seen: [2, 4, 6, 8, 10]"]


class Uncopyable(CountsItsCalls):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def test_a_policy_that_cannot_be_copied_is_an_error_that_asks_for_a_factory():
    with pytest.raises(PolicyError) as caught:
        replayed(Uncopyable())
    assert str(caught.value) == (
        "policy Uncopyable cannot be copied (TypeError(\"cannot pickle '_thread.lock' object\")), "
        "and each probe runs on a copy. Give a factory instead: a function without arguments that "
        "returns a new policy."
    )


def test_without_facts_nothing_is_copied():
    assert len(replayed(Uncopyable(), session(facts=())).steps) == 4


def test_a_factory_makes_a_new_policy_and_brings_it_to_the_same_point():
    transcript = session(facts=(employee(asked_at=3), shard()))
    from_factory = replayed(Uncopyable, transcript)
    copied = replayed(CountsItsCalls(), transcript)
    assert from_factory.probes == copied.probes
    assert from_factory.steps == copied.steps


def test_a_factory_of_copyable_policies_is_called_once():
    made = []

    def make():
        made.append(CountsItsCalls())
        return made[-1]

    replayed(make)
    assert len(made) == 1


def counting_closure():
    seen, total = [], 0

    def policy(messages):
        nonlocal total
        total += 1
        seen.append(len(messages))
        return [user(f"calls seen: {seen}, {total}"), messages[-1]]

    return policy


def test_a_closure_is_copied_with_its_state():
    replay = replayed(counting_closure())
    assert first_texts(replay.probes["employee"]) == ["calls seen: [2, 4, 6, 8], 4"] * 2
    assert first_texts(replay.probes["shard"]) == ["calls seen: [2, 4, 6, 8, 9], 5"]


def test_a_closure_may_hold_a_module_and_itself():
    import json

    def policy(messages, depth=1):
        return policy(messages, 0) if depth else json.loads(json.dumps(messages))

    replay = replayed(policy)
    assert [len(request.messages) for request in replay.probes["employee"]] == [8, 8]
