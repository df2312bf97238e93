"""``ctx_carried`` and ``ctx_absent``."""

import pytest

from pytest_ctxguard.checks.carried import AbsentFact, CarriedFact
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.errors import UsageError
from tests.factories import assistant, case_of, replayed, session, shard


def keep_all(messages):
    return messages


def newest_four(messages):
    return messages[-4:]


def judge(promise, policy, transcript=None):
    return promise.judge(case_of(replayed(policy, transcript)))


def test_a_fact_that_is_carried():
    judgement = judge(CarriedFact("employee"), keep_all)
    assert judgement.verdict == "pass"
    assert judgement.promise == "carried(employee)"
    assert judgement.summary == "in 2 of 2 requests at probe (original)"


def test_a_fact_that_was_dropped():
    judgement = judge(CarriedFact("employee"), newest_four)
    assert judgement.verdict == "fail"
    assert judgement.summary == "in 0 of 2 requests at probe (nowhere)"
    assert judgement.findings == (
        Finding(
            rule="ctx_carried.lost",
            what="the policy dropped 'employee' ('4417')",
            where="transcript small, policy newest_four, wording 1, planted at message 1",
            measured="carried in 0 of 2 requests",
            allowed="carried in all of them",
            why="the model cannot answer from what it is not sent; it will guess",
            remedy="keep the message, pin its text, or have the summary carry the value",
        ),
    )


def test_every_call_since_planting():
    judgement = judge(CarriedFact("employee", at="every"), newest_four)
    assert judgement.summary == "in 2 of 4 requests at every (nowhere)"
    assert "call 3 since planting" in judgement.findings[0].where
    assert judge(CarriedFact("employee", at="every"), keep_all).verdict == "pass"


def test_probes_may_carry_what_calls_did_not():
    judgement = judge(CarriedFact("shard"), lambda messages: messages[-3:])
    assert judgement.verdict == "pass"
    assert judgement.summary == "in 1 of 1 requests at probe (echoed)"
    dropped = judge(CarriedFact("shard", at="every"), lambda messages: messages[-1:])
    assert dropped.findings[0].measured == "carried in 1 of 2 requests"


def test_a_fact_that_is_absent():
    judgement = judge(AbsentFact("employee"), newest_four)
    assert judgement.verdict == "pass"
    assert judgement.promise == "absent(employee)"
    assert judgement.summary == "in 0 of 2 requests at probe"


def test_a_fact_that_is_still_sent():
    judgement = judge(AbsentFact("shard"), keep_all)
    assert judgement.verdict == "fail"
    assert judgement.findings == (
        Finding(
            rule="ctx_absent.kept",
            what="'shard' ('pay-shard-7') is still sent",
            where="transcript small, policy keep_all, wording 1, from: echoed, original",
            measured="carried in 1 of 1 requests",
            allowed="carried in none",
            why="a value that should be gone can still be answered, and is still paid for",
            remedy="drop the message and what repeats it (echoes, summaries, pinned notes)",
        ),
    )


def test_absent_from_every_call():
    judgement = judge(AbsentFact("employee", at="every"), newest_four)
    assert judgement.verdict == "fail"
    assert judgement.findings[0].measured == "carried in 2 of 4 requests"
    assert "call 1 since planting" in judgement.findings[0].where
    assert judge(AbsentFact("employee", at="every"), lambda m: m[2:] or m[:1]).verdict == "pass"


@pytest.mark.parametrize("kind", [CarriedFact, AbsentFact])
def test_a_promise_about_no_call_at_all_is_refused(kind):
    messages = (*session().messages, assistant("It was pay-shard-7."))
    transcript = session(messages=messages, facts=(shard(planted_at=8),))
    with pytest.raises(UsageError) as caught:
        judge(kind("shard", at="every"), keep_all, transcript)
    assert str(caught.value) == (
        f"{kind.marker}('shard', at='every'): no call comes after message 8, which plants it, so "
        "nothing could be wrong. Use at='probe'."
    )
    verdict = "pass" if kind is CarriedFact else "fail"
    assert judge(kind("shard"), keep_all, transcript).verdict == verdict


@pytest.mark.parametrize("kind", [CarriedFact, AbsentFact])
def test_an_unknown_fact(kind):
    with pytest.raises(UsageError, match="it has: employee, shard"):
        judge(kind("ticket"), keep_all)
