"""``ctx_lifetime``: facts are sent as long as they hold, and no longer."""

import pytest

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.lifetime import Lifetime
from pytest_ctxguard.checks.promise import make_promises
from pytest_ctxguard.errors import UsageError
from tests.factories import assistant, case_of, employee, replayed, session, shard, user


def keep_all(messages):
    return messages


def without(*indices):
    """A policy that sends all but these messages of the history; the last one in any case."""

    def policy(messages):
        kept = [m for i, m in enumerate(messages[:-1]) if i not in indices]
        return [*kept, messages[-1]]

    return policy


def judge(policy, *facts, transcript=None, **promise):
    case = case_of(replayed(policy, transcript or session(facts=facts)))
    return Lifetime(**promise).judge(case)


def rules(judgement):
    return [finding.rule.removeprefix("ctx_lifetime.") for finding in judgement.findings]


def newer(**changes):
    """A shard that takes the place of the first one, in message 7; the probe comes after it."""
    fields = {"name": "new", "value": "pay-shard-9", "kind": "update", "planted_at": 7}
    return shard(**{**fields, "supersedes": ("pay-shard-7",), **changes})


def moved(text="Now it is pay-shard-9."):
    messages = (*session().messages[:7], user(text), assistant("Noted."))
    return session(messages=messages, facts=(newer(),))


@pytest.mark.parametrize("lifetime", ["session", "durable"])
def test_a_fact_that_holds_is_in_every_probe_request(lifetime):
    kept = judge(keep_all, employee(lifetime=lifetime))
    assert (kept.verdict, kept.requests) == ("pass", 2)
    assert kept.summary == "1 facts that hold, 0 that must be gone"
    lost = judge(without(1), employee(lifetime=lifetime))
    assert lost.findings == (
        Finding(
            rule="ctx_lifetime.lost",
            what="the policy dropped 'employee' ('4417'), which still holds",
            where="transcript small, policy without.<locals>.policy, wording 1, planted at message "
            "1",
            measured="so in 2 of 2 requests",
            allowed="so in none",
            why="the model cannot answer from what it is not sent; it will guess",
            remedy="keep the message, pin its text, or have the summary carry the value",
            requests=2,
        ),
    )


def test_a_fact_of_one_turn_is_gone_in_later_ones():
    of_a_turn = employee(lifetime="turn")
    gone = judge(without(1), of_a_turn)
    assert gone.verdict == "pass"
    assert gone.requests == 3 + 2  # the call of its own turn is not judged
    still = judge(keep_all, of_a_turn)
    (finding,) = still.findings
    assert finding.rule == "ctx_lifetime.expired"
    assert finding.what == "'employee' ('4417') held for one turn, and is sent in later ones"
    assert "call 1, planted at message 1" in finding.where
    assert finding.measured == "so in 5 of 5 requests"


def test_a_fact_of_one_turn_may_not_come_back_in_a_probe():
    def pin(messages):
        note = [{"role": "system", "content": "4417"}] if "employee" in str(messages[-1]) else []
        return [*note, *(m for i, m in enumerate(messages) if i != 1 or len(messages) == 2)]

    finding = judge(pin, employee(lifetime="turn", wordings=("Which employee?",))).findings[0]
    assert "wording 1" in finding.where
    assert finding.measured == "so in 1 of 4 requests"


def test_a_forbidden_value_is_gone_after_its_turn():
    secret = employee(name="key", kind="forbidden")
    assert judge(without(1), secret).verdict == "pass"
    (finding,) = judge(keep_all, secret).findings
    assert finding.rule == "ctx_lifetime.forbidden"
    assert finding.what == "'key' ('4417') is forbidden, and is sent after the turn it came in"
    assert finding.remedy.endswith("or blank the value where it stands")


def test_a_forbidden_value_that_a_tool_showed_may_be_sent_to_the_end_of_that_turn():
    secret = shard(kind="forbidden")
    assert judge(without(5, 6), secret).verdict == "pass"
    assert rules(judge(without(5), secret)) == ["forbidden"]  # the agent's echo of it


def test_an_older_value_beside_the_newer_one_is_no_finding():
    assert judge(keep_all, transcript=moved()).verdict == "pass"
    assert judge(without(5, 6), transcript=moved()).verdict == "pass"


def test_an_older_value_without_the_newer_one():
    judgement = judge(without(7), transcript=moved())
    assert rules(judgement) == ["lost", "stale"]
    stale = judgement.findings[1]
    assert stale.what == (
        "'pay-shard-7' is sent without what took its place, 'new' ('pay-shard-9')"
    )
    assert stale.measured == "so in 1 of 1 requests"
    assert rules(judge(without(5, 6, 7), transcript=moved())) == ["lost"]


def test_a_policy_that_promises_to_drop_what_is_outdated():
    judgement = judge(keep_all, transcript=moved(), strict=True)
    assert rules(judgement) == ["superseded"]
    assert judgement.findings[0].what == (
        "'pay-shard-7' is still sent, though 'new' ('pay-shard-9') took its place"
    )
    assert judge(without(5, 6), transcript=moved(), strict=True).verdict == "pass"
    both = moved("It moved from pay-shard-7 to pay-shard-9.")
    assert judge(without(5, 6), transcript=both, strict=True).verdict == "pass"


def test_all_facts_of_a_transcript_each_by_its_own_lifetime():
    facts = (employee(lifetime="turn"), shard())
    judgement = judge(keep_all, *facts)
    assert judgement.promise == "lifetime"
    assert judgement.summary == "1 facts that hold, 1 that must be gone"
    assert rules(judgement) == ["expired"]
    named = judge(keep_all, *facts, fact="shard")
    assert (named.promise, named.verdict) == ("lifetime(shard)", "pass")


def test_two_hops_hold_together_and_expire_alone():
    said = assistant("Noted. Ines owns the slow one.")
    messages = (*session().messages[:2], said, *session().messages[3:])

    def owner(**changes):
        fields = {"name": "owner", "value": "Ines", "planted_at": 2, "shape": r"[A-Z]\w+"}
        fields = {**fields, "kind": "multi-hop", "links": ("shard",), "wordings": ("Whom?",)}
        return session(messages=messages, facts=(shard(**{**fields, **changes}), shard()))

    assert rules(judge(without(5, 6), transcript=owner(), fact="owner")) == ["lost"]
    of_a_turn = owner(lifetime="turn")
    assert rules(judge(without(5, 6), transcript=of_a_turn, fact="owner")) == ["expired"]


def test_what_no_lifetime_can_be_judged_of():
    with pytest.raises(UsageError, match="declares no fact, so nothing could be wrong"):
        judge(keep_all)
    with pytest.raises(UsageError, match="it has: employee"):
        judge(keep_all, employee(), fact="ticket")


def test_arguments():
    assert make_promises(Lifetime, (), {}) == (Lifetime(),)
    assert make_promises(Lifetime, ("a", "b"), {"strict": True}) == (
        Lifetime("a", strict=True),
        Lifetime("b", strict=True),
    )
    for wrong in ({"fact": 3}, {"strict": "yes"}):
        with pytest.raises(UsageError, match=r"ctx_lifetime: .* Usage: ctx_lifetime"):
            Lifetime(**wrong)
