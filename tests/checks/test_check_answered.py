"""``ctx_answered``."""

import pytest

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.answered import Answered
from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.errors import ModelMissing, UsageError
from pytest_ctxguard.recall.answers import Answers, Trial
from pytest_ctxguard.recall.controls import Controls
from pytest_ctxguard.transcript.model import ToolProbe
from tests.factories import case_of, employee, replayed, session, shard, tool

USABLE = Controls("hit", "abstained")
DEAF = Controls("other", "other")
MODEL = {"model": "tiny@1", "numerics": "avx2"}


def trial(number, outcome="hit", text="It is 4417.", controls=USABLE, **fields):
    wording = f"wording {number}"
    return Trial(f"employee/{number}", wording, outcome, text, controls, **fields)


def keep_all(messages):
    return messages


def newest(messages):
    return messages[-1:]


def judge(*trials, promise=None, policy=keep_all, old=None, fingerprint=None, **changes):
    """Judge answers as given; ``old`` are the outcomes the baseline recorded."""
    case = case_of(
        replayed(policy),
        answers=lambda fact: Answers(fact, trials),
        model=lambda: MODEL,
        **changes,
    )
    promise = promise or Answered("employee")
    if old is None:
        return promise.judge(case)
    now = promise.judge(case).metrics["answered.employee"].fingerprint
    hits = sum(outcome == "hit" for outcome in old.values())
    recorded = Metric(hits, {**now, **(fingerprint or {})}, of=len(old), trials=old)
    fields = {"answers": case.answers, "model": case.model, **changes}
    return promise.judge(
        case_of(case.replay, recorded=lambda: {"answered.employee": recorded}, **fields)
    )


def test_enough_answers():
    judgement = judge(
        trial(1), trial(2, "invented", "1234"), trial(3), promise=Answered("employee", 2)
    )
    assert (judgement.verdict, judgement.state) == ("pass", "new")
    assert judgement.promise == "answered(employee)"
    assert judgement.summary == (
        "2 of 3 usable wordings (2 hit, 1 invented); 2 of 3 without a shared word; "
        "3 wordings, a panel has 6 or more"
    )
    assert judgement.requests == 3
    metric = judgement.metrics["answered.employee"]
    assert (metric.value, metric.of) == (2, 3)
    assert metric.trials == {"employee/1": "hit", "employee/2": "invented", "employee/3": "hit"}


def test_the_fingerprint_is_the_instrument():
    metric = judge(trial(1)).metrics["answered.employee"]
    assert set(metric.fingerprint) == {
        "transcript", "fact", "outcome_rules", "answer_tokens", "model", "numerics",
    }  # fmt: skip
    assert metric.fingerprint["model"] == "tiny@1"
    cut = judge(trial(1), policy=newest).metrics["answered.employee"]
    assert cut.fingerprint == metric.fingerprint


def test_unusable_wordings_are_shown_and_do_not_count():
    judgement = judge(trial(1), trial(2, "hit", controls=DEAF))
    assert judgement.summary == (
        "1 of 1 usable wordings (1 hit); 1 unusable: employee/2 other with the fact alone; "
        "1 of 1 without a shared word; 2 wordings, a panel has 6 or more"
    )
    assert judgement.metrics["answered.employee"].trials == {"employee/1": "hit"}


def test_too_few_answers_of_what_is_sent():
    judgement = judge(
        trial(1, "neighbour", "9911"),
        trial(2, "invented", f"{'x' * 70}\n 1234"),
        trial(3),
        trial(4, "abstained", "I don't\n\nknow."),
        trial(5, "other", "Yes."),
        promise=Answered("employee", 3),
    )
    assert judgement.verdict == "fail"
    assert judgement.findings == (
        Finding(
            rule="ctx_answered.too-few",
            what="'employee' is answered 1 of 5 times",
            where="transcript small, policy keep_all, employee/1 neighbour: '9911', "
            f"employee/2 invented: '{'x' * 59}…', employee/4 abstained: \"I don't know.\"",
            measured="1 hits; carried: yes (original)",
            allowed="at least 3",
            why="it is sent, but the model does not find it",
            remedy="send less that looks like the answer, or pin the value near the end",
            requests=4,
        ),
    )


def test_too_few_answers_of_what_is_not_sent():
    judgement = judge(trial(1, "invented", "1234"), policy=newest)
    [finding] = judgement.findings
    assert finding.measured == "0 hits; carried: no (nowhere)"
    assert finding.why == "it is not sent, so the model cannot answer it"
    assert finding.remedy == "have the policy carry the value; ctx_carried shows where it is lost"


def test_more_than_the_usable_wordings_cannot_be_asked_for():
    with pytest.raises(UsageError) as caught:
        judge(
            trial(1),
            trial(2, controls=DEAF),
            trial(3, controls=Controls("hit", "hit")),
            promise=Answered("employee", 2),
        )
    assert str(caught.value) == (
        "ctx_answered('employee', at_least=2): only 1 of 3 wordings are usable (employee/2 other "
        "with the fact alone, employee/3 guessed without the fact). Lower at_least or add wordings."
    )
    with pytest.raises(UsageError, match=r"only 1 of 1 wordings are usable \(no more are written"):
        judge(trial(1), promise=Answered("employee", 2))


def test_as_many_hits_as_before():
    judgement = judge(trial(1), trial(2, "other"), old={"employee/1": "hit", "employee/2": "other"})
    assert (judgement.verdict, judgement.state) == ("pass", "unchanged")


def test_more_hits_than_before():
    judgement = judge(trial(1), trial(2), old={"employee/1": "hit", "employee/2": "other"})
    assert (judgement.verdict, judgement.state) == ("pass", "improved")


def test_a_lost_hit_fails_though_another_was_won():
    judgement = judge(
        trial(1, "invented", "1234"),
        trial(2),
        old={"employee/1": "hit", "employee/2": "other"},
        accept="pytest-ctxguard accept",
    )
    assert (judgement.verdict, judgement.state) == ("fail", "regressed")
    assert judgement.findings == (
        Finding(
            rule="ctx_answered.lost-hits",
            what="1 wordings of 'employee' that were answered no longer are",
            where="transcript small, policy keep_all, employee/1 invented: '1234'",
            measured="employee/1 invented",
            allowed="at most 0 of the baseline's hits lost",
            why="users will see the agent forget",
            remedy="mend the policy, or accept: pytest-ctxguard accept",
            baseline=True,
        ),
    )


OLD = {"employee/1": "hit", "employee/2": "hit", "employee/3": "hit"}


def test_some_hits_may_be_lost():
    trials = (trial(1), trial(2, "other", "Hm."), trial(3))
    judgement = judge(*trials, promise=Answered("employee", 1, max_lost=1), old=OLD)
    assert (judgement.verdict, judgement.state) == ("pass", "regressed")
    two = (trial(1), trial(2, "other", "Hm."), trial(3, "abstained", "I don't know"))
    judgement = judge(*two, promise=Answered("employee", 1, max_lost=1), old=OLD)
    assert judgement.verdict == "fail"
    assert judgement.findings[0].measured == "employee/2 other, employee/3 abstained"
    assert judgement.findings[0].allowed == "at most 1 of the baseline's hits lost"


def test_where_quotes_three_of_the_lost_and_measured_names_all():
    lost = [trial(number, "other", f"Hm {number}.") for number in range(1, 5)]
    old = {f"employee/{number}": "hit" for number in range(1, 6)}
    [finding] = judge(*lost, trial(5), old=old).findings
    assert finding.where == (
        "transcript small, policy keep_all, employee/1 other: 'Hm 1.', "
        "employee/2 other: 'Hm 2.', employee/3 other: 'Hm 3.'"
    )
    assert finding.measured == (
        "employee/1 other, employee/2 other, employee/3 other, employee/4 other"
    )


def test_a_hit_whose_wording_became_unusable_is_lost():
    error = Controls("error", "error")
    judgement = judge(trial(1), trial(2), trial(3, "hit", controls=error), old=OLD)
    assert judgement.verdict == "fail"
    assert judgement.findings[0].measured == "employee/3 unusable"


def test_lost_hits_are_inconclusive_when_only_the_numerics_differ():
    judgement = judge(
        trial(1), trial(2), trial(3, "other", "Hm."), old=OLD, fingerprint={"numerics": "neon"}
    )
    assert (judgement.verdict, judgement.state) == ("inconclusive", "regressed")
    assert judgement.findings[0].inconclusive
    assert judgement.findings[0].why == (
        "only the numerics differ from the baseline's, so near-ties may have flipped"
    )


def test_another_model_is_incomparable():
    judgement = judge(trial(1, "other", "Hm."), trial(2), old=OLD, fingerprint={"model": "big@2"})
    assert (judgement.verdict, judgement.state) == ("fail", "incomparable")
    assert [finding.rule for finding in judgement.findings] == ["ctx_answered.incomparable"]


def test_too_few_and_lost_are_two_findings():
    judgement = judge(trial(1, "other", "Hm."), trial(2), promise=Answered("employee", 2), old=OLD)
    assert [finding.rule for finding in judgement.findings] == [
        "ctx_answered.too-few",
        "ctx_answered.lost-hits",
    ]


def test_a_missing_entry_fails_where_one_is_required():
    judgement = judge(trial(1), require_recorded=True)
    assert (judgement.verdict, judgement.state) == ("fail", "new")


def test_a_missing_model_is_not_hidden():
    def missing(fact):
        raise ModelMissing("not in the cache")

    case = case_of(replayed(keep_all), answers=missing)
    with pytest.raises(ModelMissing):
        Answered("employee").judge(case)


def test_a_changed_wording_is_another_instrument():
    def fact_digest(fact):
        case = case_of(
            replayed(keep_all, session(facts=(fact,))),
            answers=lambda name: Answers(name, (trial(1),)),
            model=lambda: MODEL,
        )
        metric = Answered("employee").judge(case).metrics["answered.employee"]
        return metric.fingerprint["fact"]

    assert fact_digest(employee()) == fact_digest(employee())
    assert fact_digest(employee()) != fact_digest(employee(wordings=("Which number?",)))


def test_six_wordings_are_a_panel():
    judgement = judge(*(trial(number) for number in range(1, 7)))
    assert judgement.summary == "6 of 6 usable wordings (6 hit); 6 of 6 without a shared word"


def test_wordings_that_share_words_with_what_plants_the_fact_are_told_apart():
    shared = [trial(number, overlap=("number",)) for number in range(1, 6)]
    judgement = judge(*shared, trial(6, "other", "Hm."))
    assert judgement.summary.endswith("; 0 of 1 without a shared word")
    judgement = judge(*shared, trial(6, overlap=("employee",)))
    assert judgement.summary.endswith("; none without a shared word")


def test_calls_of_other_tools_are_counted():
    six = [trial(number, called="right") for number in range(1, 5)]
    six += [trial(5, "other", "read_log {}", called="wrong_tool")]
    six += [trial(6, "other", "read {}", called="unknown_tool")]
    judgement = judge(*six, promise=Answered("employee", 5))
    assert "; calls: 4 right, 1 wrong tool, 1 unknown tool; " in judgement.summary
    assert judgement.findings[0].where.endswith(
        "employee/5 other (wrong tool): 'read_log {}', employee/6 other (unknown tool): 'read {}'"
    )
    assert "calls" not in judge(*six[:4]).summary


ALL = {"full": "hit", "restated": "hit", "again": "hit"}


def test_the_controls_are_shown_where_all_were_run():
    controls = Controls("hit", "abstained", **ALL)
    six = [trial(number, controls=controls) for number in range(1, 4)]
    six += [trial(number, "other", "Hm.", controls=controls) for number in range(4, 7)]
    assert judge(*six).summary.endswith(
        "; controls, of 6: full 6, alone 6, without 0, restated 6, unstable 0; normalised 0.50"
    )
    lost = Controls("hit", "abstained", full="other", restated="other", again="other")
    assert judge(trial(1, controls=lost)).summary.endswith("; normalised none to win")


def test_two_outcomes_of_one_request_are_inconclusive():
    flips = Controls("hit", "abstained", **{**ALL, "again": "other"})
    judgement = judge(trial(1, controls=flips), trial(2, controls=Controls("hit", "other", **ALL)))
    assert judgement.verdict == "inconclusive"
    [finding] = judgement.findings
    assert finding.rule == "ctx_answered.unstable"
    assert finding.what == "1 wordings of 'employee' have two outcomes for one request"
    assert finding.measured == "employee/1 hit, then other"


def test_a_fact_that_is_linked_to_is_part_of_the_instrument():
    def fact_digest(other):
        pair = shard(kind="multi-hop", links=("employee",))
        replay = replayed(keep_all, session(facts=(other, pair)))
        case = case_of(replay, answers=lambda name: Answers(name, (trial(1),)), model=lambda: MODEL)
        return Answered("shard").judge(case).metrics["answered.shard"].fingerprint["fact"]

    assert fact_digest(employee()) == fact_digest(employee())
    assert fact_digest(employee()) != fact_digest(employee(look_alikes=("5830",)))


def test_a_tool_probe_is_another_instrument():
    opening = tool("open_ticket")
    opening["function"]["parameters"]["properties"]["employee"] = {"type": "string"}
    fact = employee(tool=ToolProbe(name="open_ticket", argument="employee"))
    replay = replayed(keep_all, session(facts=(fact,), tools=(opening,)))
    case = case_of(replay, answers=lambda name: Answers(name, (trial(1),)), model=lambda: MODEL)
    metric = Answered("employee").judge(case).metrics["answered.employee"]
    assert metric.fingerprint["answer_tokens"] == "128"
    assert judge(trial(1)).metrics["answered.employee"].fingerprint["answer_tokens"] == "48"


def test_while_the_baseline_is_rewritten_a_lost_hit_is_said_and_fails_nothing():
    judgement = judge(
        trial(1, "invented", "1234"), trial(2), old={"employee/1": "hit"}, updating=True
    )
    assert (judgement.verdict, judgement.state) == ("pass", "regressed")
