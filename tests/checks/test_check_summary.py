"""``ctx_summary``: when the summariser is asked, and what it is shown."""

import pytest

from pytest_ctxguard.checks.summary import Summarising
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.declare import persists
from pytest_ctxguard.testing import ScriptedSummariser
from tests.factories import case_of, employee, replayed, tool, user
from tests.summarising import SUMMARY, Compacts, long_session, newest


def judged(policy, *, transcript=None, budget=300, summariser=None, **promise):
    replay = replayed(
        policy,
        transcript or long_session(),
        budget=budget,
        summariser=summariser or ScriptedSummariser(),
    )
    return Summarising(**promise).judge(case_of(replay))


def rules(judgement):
    return [finding.rule for finding in judgement.findings]


def test_a_policy_that_behaves():
    judgement = judged(Compacts, budget=700)
    assert (judgement.promise, judgement.verdict) == ("summary", "pass")
    assert judgement.summary == "asked 2 times at 2 calls, 374 tokens at most"


def last_part_only(messages, budget, *, count, summarise):
    """Show the summariser only the newest of what is cut, as one real middleware does."""
    if count(messages) <= budget:
        return list(messages)
    cut = newest(messages, budget, count)
    return [
        messages[0],
        user(SUMMARY + summarise(messages[max(1, cut - 2) : cut])),
        *messages[cut:],
    ]


def test_a_fact_that_was_cut_unseen():
    judgement = judged(last_part_only, in_a_row=99)
    assert rules(judgement) == ["ctx_summary.fact-not-shown"]
    finding = judgement.findings[0]
    assert finding.what == "'employee' ('4417') was cut, and the summariser never saw it"
    assert finding.where.endswith("planted at message 1")
    assert finding.measured.startswith("shown 97 tokens at most, in ")


def test_a_fact_that_is_still_sent_need_not_be_shown():
    def pins(messages, budget, *, count, summarise):
        sent = last_part_only(messages, budget, count=count, summarise=summarise)
        return sent if messages[1] in sent else [messages[0], messages[1], *sent[1:]]

    assert judged(pins, budget=400, in_a_row=99).verdict == "pass"


def test_a_fact_planted_after_the_last_summary_was_not_shown_either():
    def early(messages, *, summarise):
        if len(messages) == 2:
            return [user(summarise(messages))]
        return [messages[0], *messages[-2:]]

    late = employee(planted_at=3, value="again 0", shape="again 0", asked_at=None)
    session, short = long_session(words=1, facts=(late,)), ScriptedSummariser(["short"])
    judgement = judged(early, transcript=session, summariser=short)
    assert rules(judgement) == ["ctx_summary.fact-not-shown"]
    assert ", call 2, planted at message 3" in judgement.findings[0].where
    shown = judged(early, transcript=long_session(words=1), summariser=short)
    assert shown.verdict == "pass"


def test_the_summariser_is_not_asked_again_for_every_message():
    def always(messages, budget, *, count, summarise):
        if count(messages) <= budget:
            return list(messages)
        cut = newest(messages, budget, count)
        return [messages[0], user(SUMMARY + summarise(messages[1:cut])), *messages[cut:]]

    session = long_session(words=1, turns=15)
    short = ScriptedSummariser(["short"])
    judgement = judged(always, transcript=session, budget=150, summariser=short)
    assert rules(judgement) == ["ctx_summary.loop"]
    finding = judgement.findings[0]
    assert finding.what == "the summariser is asked at 6 calls in a row"
    assert finding.measured.startswith("6 summariser calls; the smallest request has ")
    assert finding.allowed == "3 calls in a row, where little comes in or nothing is cut"
    patient = judged(always, transcript=session, budget=150, summariser=short, in_a_row=6)
    assert patient.verdict == "pass"
    assert judged(always, summariser=short).verdict == "pass"  # much comes in at each call


def test_a_loop_that_never_gets_below_the_budget_says_so():
    def stuck(messages, budget, *, count, summarise):
        if count(messages) <= budget:
            return list(messages)
        return [*messages[:2], user(SUMMARY + summarise(messages[2:-1])), messages[-1]]

    task = user("My employee number is 4417. " + "x" * 200)
    session = long_session(words=1)
    session = long_session(words=1, messages=(session.messages[0], task, *session.messages[2:]))
    judgement = judged(stuck, transcript=session, budget=220)
    measured = next(f.measured for f in judgement.findings if f.rule == "ctx_summary.loop")
    assert measured.endswith("never below the budget of 220")


def test_a_summary_larger_than_what_it_replaces():
    judgement = judged(Careless, summariser=lambda shown: "word " * 200)
    assert "ctx_summary.grew" in rules(judgement)
    finding = next(f for f in judgement.findings if f.rule == "ctx_summary.grew")
    assert finding.what == "the summary is larger than what it replaces"
    assert judged(Compacts, summariser=lambda shown: "word " * 200).verdict == "pass"


class Careless(Compacts):
    """Takes whatever the summariser returns."""

    def __call__(self, messages, budget, *, count, summarise):
        request = [*self.head(messages, self.summary), *messages[self.upto :]]
        if count(request) <= budget:
            return request
        cut = max(self.upto, newest(messages, budget, count))
        self.summary, self.upto = summarise(messages[self.upto : cut]), cut
        return [*self.head(messages, self.summary), *messages[cut:]]


def test_growth_is_measured_against_what_a_persisting_policy_was_given():
    def grows_once(messages, *, summarise):
        if len(messages) == 6:
            return [user(summarise(messages)), messages[-1]]
        return list(messages)

    judgement = judged(persists(grows_once), summariser=lambda shown: "word " * 200)
    assert rules(judgement) == ["ctx_summary.grew"]


def test_no_summary_at_all():
    judgement = judged(lambda messages, summarise: list(messages))
    assert rules(judgement) == ["ctx_summary.never-asked"]
    assert judgement.findings[0].what == "the policy never asked its summariser"
    from_nothing = judged(lambda m, summarise: [user("Too long to summarise."), m[-1]])
    assert rules(from_nothing) == ["ctx_summary.never-asked"]
    assert from_nothing.findings[0].what == (
        "the history was replaced by text that no summariser wrote"
    )
    assert ", call 0" in from_nothing.findings[0].where


def asks(**options):
    def policy(messages, *, summarise):
        summarise(messages[:3], **options)
        return [messages[0], *messages[1:]]

    return policy


REQUESTS = {
    "too long": ({}, {"window": 30}, "too-long", "37 tokens shown, 0 for the answer"),
    "too long with its answer": ({"max_tokens": 40}, {"window": 70}, "too-long",
                                 "37 tokens shown, 40 for the answer"),
    "tools": ({"tools": [tool()]}, {}, "tools-offered", "1 tools"),
    "much output": ({"max_tokens": 70}, {"max_output": 65}, "max-output", "max_tokens 70"),
    "no output": ({"max_tokens": 0}, {}, "max-output", "max_tokens 0"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "promise", "rule", "measured"), REQUESTS.values(), ids=REQUESTS
)
def test_the_summarisers_own_request_is_a_request(options, promise, rule, measured):
    judgement = judged(asks(**options), in_a_row=99, **promise)
    assert rules(judgement) == [f"ctx_summary.{rule}"]
    assert judgement.findings[0].measured == measured


def test_requests_within_their_limits():
    judgement = judged(asks(max_tokens=40), in_a_row=99, window=124, max_output=40)
    assert judgement.verdict == "pass"


@pytest.mark.parametrize("arguments", [{"window": 0}, {"in_a_row": None}, {"max_output": 1.5}])
def test_impossible_arguments(arguments):
    with pytest.raises(UsageError, match=r"ctx_summary: .* is not a number of 1 or more\. Usage"):
        Summarising(**arguments)
