"""What is judged of every replay: no mutation, not idle."""

import dataclasses

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.guards import guard
from pytest_ctxguard.checks.requests import named_requests
from tests.factories import case_of, replay_of, replayed, request, session, user


def test_a_policy_that_acts():
    judgement = guard(case_of(replay_of(50, 60, acted=True, budget=40, history_tokens=100)))
    assert (judgement.promise, judgement.verdict) == ("guard", "pass")
    assert judgement.summary == "the policy changed 2 of 2 requests"


def test_a_policy_that_never_acts_though_it_had_to():
    judgement = guard(case_of(replay_of(50, 60, 70, acted=False, budget=55)))
    assert judgement.verdict == "fail"
    assert judgement.summary == "the policy changed 0 of 3 requests"
    assert judgement.findings == (
        Finding(
            rule="ctx_replay.idle",
            what="the policy never changed a request although the history exceeded the budget",
            where="transcript small, policy cut, call 1",
            measured="60 tokens of history at its first such call",
            allowed="55 tokens",
            why="nothing was tested: this policy does what no policy does",
            remedy="check that the budget reaches the policy; a policy that is meant to send "
            "everything says so with ctx_replay(…, expect_identity=True)",
            requests=2,
        ),
    )


def test_a_policy_that_is_meant_to_send_everything_says_so():
    case = case_of(replay_of(50, 60, 70, acted=False, budget=55))
    assert guard(case, expect_identity=True).verdict == "pass"


def test_below_the_budget_nothing_need_be_done():
    assert guard(case_of(replay_of(50, 60, acted=False, budget=60))).verdict == "pass"


def test_without_a_budget_nobody_can_say():
    assert guard(case_of(replay_of(50, 60, acted=False))).verdict == "pass"


def test_acting_in_one_request_is_enough():
    replay = replay_of(50, 60, 70, acted=False, budget=55)
    step = dataclasses.replace(replay.steps[0], request=request(user("x"), tokens=50, acted=True))
    acted = dataclasses.replace(replay, steps=(step, *replay.steps[1:]))
    assert guard(case_of(acted)).verdict == "pass"


def forgetful(messages):
    del messages[:-1]
    messages[0]["content"] = "cut"
    return messages


def test_a_changed_history_is_a_finding_even_where_identity_is_expected():
    judgement = guard(case_of(replayed(forgetful)), expect_identity=True)
    assert judgement.verdict == "fail"
    assert judgement.findings == (
        Finding(
            rule="ctx_replay.mutated",
            what="the policy changed the history it was given",
            where="transcript small, policy forgetful, call 0, the list of messages, message 1",
            measured="7 requests with a changed history",
            allowed="0: a policy decides what is sent, the stored history keeps everything",
            why="what it removes is gone for every later call",
            remedy="build a new list, and a new dict for each message that is shortened; what "
            "edits its input on purpose is declared: mutates(policy)",
            requests=7,
        ),
    )


def test_only_the_first_three_changes_are_listed():
    def rewrites(messages):
        for message in messages:
            message["seen"] = True
        return list(messages)

    transcript = session(messages=tuple(user(str(n)) for n in range(5)), facts=())
    where = guard(case_of(replayed(rewrites, transcript))).findings[0].where
    assert where.endswith("call 0, message 0, message 1, message 2")


def test_requests_are_named_calls_first():
    names = [name for name, _ in named_requests(replayed(lambda messages: messages))]
    assert names == [
        "call 0", "call 1", "call 2", "call 3", "probe employee/1", "probe employee/2",
        "probe shard/1",
    ]  # fmt: skip
