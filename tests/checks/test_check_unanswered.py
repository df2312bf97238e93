"""``ctx_unanswered``."""

import pytest

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.unanswered import Unanswered
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.answers import Answers, Interviewer, Trial
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.controls import Controls
from pytest_ctxguard.testing import ScriptedBackend
from tests.factories import case_of, employee, replayed, session, user

USABLE = Controls("hit", "abstained")


def trial(number, outcome="abstained", text="I don't know.", controls=USABLE):
    return Trial(f"employee/{number}", f"wording {number}", outcome, text, controls)


def keep_all(messages):
    return messages


def newest(messages):
    return messages[-1:]


def judge(*trials, transcript=None):
    replay = replayed(keep_all, transcript or session(facts=(employee(kind="forbidden"),)))
    case = case_of(replay, answers=lambda name: Answers(name, trials))
    return Unanswered("employee").judge(case)


def test_a_value_that_is_not_given():
    judgement = judge(trial(1), trial(2, "invented", "1234"), trial(3, "neighbour", "9911"))
    assert (judgement.verdict, judgement.promise) == ("pass", "unanswered(employee)")
    assert judgement.summary == "given in 0 of 3 usable wordings"
    assert (judgement.metrics, judgement.requests) == ({}, 3)


def test_a_value_that_is_given_is_quoted():
    judgement = judge(trial(1), trial(2, "hit", "It is\n4417."))
    assert judgement.verdict == "fail"
    assert judgement.findings == (
        Finding(
            rule="ctx_unanswered.given",
            what="the model gives '4417' of 'employee', which should be gone",
            where="transcript small, policy keep_all, employee/2 hit: 'It is 4417.'",
            measured="given in 1 of 2 usable wordings",
            allowed="given in none",
            why="a value that no longer holds, or must not be known, is acted on",
            remedy="drop the message and what repeats it (echoes, summaries, pinned notes)",
            requests=1,
        ),
    )


def test_giving_it_beside_a_wrong_value_is_giving_it():
    judgement = judge(trial(1, "neighbour", "4417 or 9911"))
    assert judgement.verdict == "fail"


def updated():
    messages = (*session().messages[:3], user("My number is 5512 now."), user("Open a ticket."))
    fact = employee(kind="update", value="5512", supersedes=("4417",), planted_at=3, asked_at=4)
    return session(messages=messages, facts=(fact,))


def test_of_an_update_the_older_values_are_the_ones_that_must_be_gone():
    assert judge(trial(1, "hit", "5512"), trial(2), transcript=updated()).verdict == "pass"
    both = judge(trial(1, "neighbour", "It was 4417, now 5512."), transcript=updated())
    assert both.findings[0].what == "the model gives '4417' of 'employee', which should be gone"


def test_an_unusable_wording_proves_nothing():
    deaf = Controls("other", "other")
    judgement = judge(trial(1), trial(2, "hit", "4417", controls=deaf))
    assert judgement.verdict == "pass"
    assert judgement.summary == (
        "given in 0 of 1 usable wordings; 1 unusable: employee/2 other with the fact alone"
    )
    with pytest.raises(UsageError) as caught:
        judge(trial(1, controls=deaf))
    assert str(caught.value) == (
        "ctx_unanswered('employee'): no wording is usable (employee/1 other with the fact alone), "
        "so not giving the value proves nothing. Mend the wordings."
    )


def test_a_wording_without_an_answer_is_inconclusive():
    judgement = judge(trial(1), trial(2, "error", "the window holds 4417 tokens"))
    assert judgement.verdict == "inconclusive"
    [finding] = judgement.findings
    assert finding.rule == "ctx_unanswered.not-asked"
    assert finding.what == "1 wordings of 'employee' had no answer"


def test_its_fact_is_named():
    with pytest.raises(UsageError, match="1 is not the name of a fact"):
        Unanswered(1)


def test_a_policy_that_keeps_the_value_and_one_that_drops_it():
    def reader(messages):
        return "It is 4417." if "4417" in str(messages) else "I don't know."

    interviewer = Interviewer(Asker(ScriptedBackend(reader)))

    def verdict(policy):
        replay = replayed(policy, session(facts=(employee(kind="forbidden"),)))
        case = case_of(replay, answers=lambda name: interviewer.answers(replay, name))
        return Unanswered("employee").judge(case).verdict

    assert (verdict(keep_all), verdict(newest)) == ("fail", "pass")
