"""The replay a test holds: asks and judges for itself."""

import pytest

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.answered import Answered
from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.carried import CarriedFact
from pytest_ctxguard.checks.catalogue import CHECKS
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.guarded import check_facts, guarded
from pytest_ctxguard.checks.guards import guard
from pytest_ctxguard.errors import ContextGateFailure, UsageError
from pytest_ctxguard.recall.answers import Answers, Trial
from pytest_ctxguard.recall.controls import Controls
from pytest_ctxguard.replay.values import Replay
from tests.factories import case_of, replay_of, replayed

HIT = Trial("employee/1", "Which?", "hit", "4417", Controls("hit", "other"))


def hold(replay, record=lambda judgement: None, **changes):
    case = case_of(replay, answers=lambda fact: Answers(fact, (HIT,)), **changes)
    return guarded(replay, case=case, guard=guard(case), record=record)


def test_it_is_the_replay_itself():
    plain = replayed(lambda messages: messages[-1:], budget=30, label="b")
    held = hold(plain)
    assert isinstance(held, Replay)
    assert (held.steps, held.probes, held.tokens) == (plain.steps, plain.probes, plain.tokens)
    assert (held.label, held.budget, held.transcript) == ("b", 30, plain.transcript)
    assert held.carried("employee") == plain.carried("employee")
    assert repr(held) == repr(plain)


def test_its_answers_come_from_the_case():
    assert hold(replayed(list)).answers("employee").hits == 1


def test_its_findings_are_those_of_the_guard():
    assert hold(replay_of(50, acted=True)).findings == ()
    idle = hold(replay_of(50, acted=False, budget=40))
    assert [finding.rule for finding in idle.findings] == ["ctx_replay.idle"]


def test_checks_in_the_body_raise_and_are_recorded():
    recorded = []
    held = hold(replay_of(50, 60), recorded.append)
    kept = Judgement("budget", "largest of 2 requests 60 of 60 tokens", requests=2)
    assert held.check.budget(60) == (kept,)
    with pytest.raises(ContextGateFailure, match="budget: 1 of 2 requests are over the budget"):
        held.check.budget(55)
    assert [judgement.verdict for judgement in recorded] == ["pass", "fail"]


def test_judged_as_a_value_nothing_fails_and_nothing_is_recorded():
    recorded = []
    held = hold(replay_of(50, 60, 70), recorded.append)
    judged = held.judge.budget(55)
    assert (judged.verdict, judged.counts, judged.requests) == ("fail", {"over": 2}, 3)
    kept = held.judge.budget(70)
    assert (kept.verdict, kept.counts, kept.requests) == ("pass", {}, 3)
    assert recorded == []


@pytest.mark.parametrize(
    ("ask", "counts", "requests"),
    [
        (lambda judge: judge.carried("employee", at="every"), {"lost": 3}, 4),
        (lambda judge: judge.absent("employee", at="every"), {"kept": 1}, 4),
        (lambda judge: judge.honest(announce="dropped"), {"not-announced": 6}, 7),
        (lambda judge: judge.summary(), {"never-asked": 4}, 4),
    ],
    ids=["carried", "absent", "honest", "summary"],
)
def test_counts_are_requests_that_break_a_rule_of_requests_judged(ask, counts, requests):
    judged = ask(hold(replayed(lambda messages: messages[-2:])).judge)
    assert (judged.counts, judged.requests) == (counts, requests)


def test_one_fact_is_judged_at_a_time_as_a_value():
    judge = hold(replayed(list)).judge
    with pytest.raises(UsageError, match=r"replay.judge.carried judges one fact at a time"):
        judge.carried("employee", "shard")
    with pytest.raises(AttributeError, match=r"replay.judge has no 'bugdet'; it has: absent"):
        judge.bugdet(3)


def test_every_fact_named_is_judged_before_the_failure():
    recorded = []
    held = hold(replayed(lambda messages: messages[-4:]), recorded.append)
    with pytest.raises(ContextGateFailure, match=r"^carried\(employee\): the policy dropped"):
        held.check.carried("employee", "shard")
    assert [j.promise for j in recorded] == ["carried(employee)", "carried(shard)"]


def test_what_is_inconclusive_passes_where_the_case_tolerates_it():
    replay = replayed(list)
    miss = Trial("employee/1", "Which?", "other", "Hm.", Controls("hit", "other"))
    other = Trial("employee/2", "Who?", "hit", "4417", Controls("hit", "other"))
    fields = {
        "answers": lambda fact: Answers(fact, (miss, other)),
        "model": lambda: {"model": "tiny@1", "numerics": "avx2"},
    }
    now = Answered("employee").judge(case_of(replay, **fields)).metrics["answered.employee"]
    old = Metric(
        2, {**now.fingerprint, "numerics": "neon"}, 2, {"employee/1": "hit", "employee/2": "hit"}
    )
    for tolerated in (True, False):
        case = case_of(
            replay,
            recorded=lambda: {"answered.employee": old},
            tolerate_inconclusive=tolerated,
            **fields,
        )
        held = guarded(replay, case=case, guard=guard(case), record=lambda judgement: None)
        if tolerated:
            assert held.check.answered("employee")[0].verdict == "inconclusive"
        else:
            with pytest.raises(ContextGateFailure):
                held.check.answered("employee")


def test_an_unknown_check_lists_those_there_are():
    with pytest.raises(AttributeError) as caught:
        hold(replay_of(1)).check.bugdet(3)
    known = ", ".join(sorted(marker.removeprefix("ctx_") for marker in CHECKS))
    assert str(caught.value) == f"replay.check has no 'bugdet'; it has: {known}"
    assert "wellformed" in known


def test_arguments_are_checked_as_a_markers_are():
    with pytest.raises(UsageError, match="ctx_budget: 0 is not a number of tokens"):
        hold(replay_of(1)).check.budget(0)


def test_promises_about_facts_the_transcript_has_not():
    replay = replayed(list)
    check_facts((Budget(1), CarriedFact("employee"), CarriedFact("shard")), replay)
    with pytest.raises(UsageError) as caught:
        check_facts((Budget(1), CarriedFact("ticket")), replay)
    assert str(caught.value) == (
        "ctx_carried('ticket'): transcript 'small' has no such fact; it has: employee, shard"
    )
    with pytest.raises(UsageError, match="it has: none"):
        check_facts((CarriedFact("ticket"),), replay_of(1))
