"""``ctx_carried`` and ``ctx_absent``."""

import re
from dataclasses import replace

import pytest

from pytest_ctxguard.checks.carried import AbsentFact, CarriedFact
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.again import repeater
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.transcript.library import find
from tests.factories import (
    LetterCounter,
    assistant,
    case_of,
    employee,
    replayed,
    session,
    shard,
)


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
            requests=2,
        ),
    )


def test_every_call_since_planting():
    judgement = judge(CarriedFact("employee", at="every"), newest_four)
    assert judgement.summary == "in 2 of 4 requests at every (original)"
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
            where="transcript small, policy keep_all, wording 1, from: original, echoed",
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


class Drops:
    """Keeps everything, but drops the first turns at some budgets; counts how often it is run."""

    def __init__(self, *at):
        self.at, self.runs = at, 0

    def __call__(self, messages, budget=0):
        self.runs += 1
        return messages[-2:] if budget in self.at else messages


def swept(policy, budgets, fact="employee", transcript=None, **promise):
    plan = Plan(transcript=transcript or session(), policy=policy, counter=LetterCounter())
    again = repeater(plan)
    case = case_of(run(plan), again=again)
    return CarriedFact(fact, budgets=budgets, **promise).judge(case)


def test_a_budget_in_a_hundred_at_which_the_fact_is_dropped():
    transcript = find("incident-40")
    assert len(transcript.calls) == 62
    judgement = swept(Drops(3050), range(3000, 3100), "employee", transcript)
    assert judgement.verdict == "fail"
    assert (
        judgement.summary == "in 6 of 6 requests at probe (original, echoed); lost at 1 of 100 "
        "budgets"
    )
    (finding,) = judgement.findings
    assert finding == Finding(
        rule="ctx_carried.lost-at-budget",
        what="the policy dropped 'employee' ('4417') at 1 of 100 budgets",
        where="transcript incident-40, policy Drops, budget 3,050, wording 1",
        measured="lost at 1 of 100 budgets: 3,050",
        allowed="carried at every one",
        why="the model cannot answer from what it is not sent; it will guess",
        remedy="see what it cuts there: ctx_replay(…, budget=3050)",
        requests=6,
    )


def test_the_first_budgets_are_listed_and_all_counted():
    finding = swept(Drops(*range(10, 30)), range(1, 101)).findings[0]
    assert (
        finding.measured == "lost at 20 of 100 budgets: 10, 11, 12, 13, 14, 15, 16, 17 and 12 more"
    )


def test_a_fact_carried_at_every_budget():
    judgement = swept(Drops(), [5, 50, 500])
    assert judgement.verdict == "pass"
    assert judgement.summary.endswith("; lost at 0 of 3 budgets")


def test_the_replay_itself_may_lose_it_as_well():
    plan = Plan(transcript=session(), policy=Drops(7), counter=LetterCounter(), budget=7)
    again = repeater(plan)
    judgement = CarriedFact("employee", budgets=[6, 7]).judge(case_of(run(plan), again=again))
    assert [f.rule for f in judgement.findings] == [
        "ctx_carried.lost",
        "ctx_carried.lost-at-budget",
    ]


def test_a_sweep_of_every_call():
    assert (
        swept(Drops(8), [7, 8], at="every")
        .findings[0]
        .where.endswith("budget 8, call 2 since planting")
    )


def test_a_policy_without_a_budget_cannot_be_swept():
    with pytest.raises(UsageError) as caught:
        swept(keep_all, [7])
    assert str(caught.value) == (
        "ctx_carried(budgets=…): policy keep_all takes no budget, so it is the same at each. Name "
        "a parameter `budget` in its signature, or leave budgets= out."
    )


def test_a_policy_that_breaks_down_at_a_budget_says_at_which():
    def breaks(messages, budget=0):
        return [][budget] if budget == 9 else messages

    with pytest.raises(IndexError) as caught:
        swept(breaks, [7, 9])
    assert "ctxguard: at budget 9 of ctx_carried(budgets=…)" in caught.value.__notes__


def test_a_replay_that_cannot_be_run_again_cannot_be_swept():
    with pytest.raises(UsageError, match="ctx_carried: this replay cannot be run again"):
        CarriedFact("employee", budgets=[7]).judge(case_of(replayed(keep_all)))


BUDGETS = [
    (7, "budgets=7 is no range or list of tokens"),
    ("700", "budgets='700' is no range or list of tokens"),
    (iter([7]), "is no range or list of tokens"),
    ([], "budgets= has none in it, so nothing would be run"),
    (range(5, 5), "budgets= has none in it, so nothing would be run"),
    (range(0, 5), "budgets= has 0, not 1 or more"),
    ([7, True], "budgets= has True, not 1 or more"),
    ([7, 7.5], "budgets= has 7.5, not 1 or more"),
]


@pytest.mark.parametrize(("budgets", "what"), BUDGETS)
def test_budgets_that_are_none(budgets, what):
    with pytest.raises(UsageError, match=re.escape(what)):
        CarriedFact("employee", budgets=budgets)


def hop():
    """Who owns the shard: said in message 2, and of use only beside the shard."""
    said = assistant("Noted. Ines owns the slow one.")
    owner = shard(name="owner", value="Ines", planted_at=2, kind="multi-hop", links=("shard",))
    owner = replace(owner, shape=r"[A-Z]\w+", wordings=("Whom to page?",))
    messages = (*session().messages[:2], said, *session().messages[3:])
    return session(messages=messages, facts=(owner, shard(), employee()))


HOPS = [
    ((2, 5), []),
    ((5,), ["the policy dropped 'owner' ('Ines')"]),
    ((2,), ["the policy dropped 'shard', which 'owner' ('Ines') needs"]),
    ((0,), ["the policy dropped 'owner' ('Ines') and 'shard', which it needs"]),
]


@pytest.mark.parametrize(("kept", "what"), HOPS)
def test_a_fact_of_two_hops_says_which_was_dropped(kept, what):
    def policy(messages, budget=0):
        return [*(messages[i] for i in kept if i < len(messages) - 1), messages[-1]]

    assert [f.what for f in judge(CarriedFact("owner"), policy, hop()).findings] == what
    assert bool(swept(policy, [7], "owner", hop()).findings) is bool(what)


def test_a_value_of_two_hops_is_absent_only_if_it_stands_nowhere():
    assert judge(AbsentFact("owner"), lambda m: m[2:3], hop()).verdict == "fail"
    assert judge(AbsentFact("owner"), lambda m: m[5:6], hop()).verdict == "pass"
