"""``ctx_summariser_faults``: what a policy does when there is no summary, or a bad one."""

import pytest

from pytest_ctxguard.checks.summariser_faults import SummariserFaults, summariser_faults
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.summarisers import FAULTS
from tests.factories import LetterCounter, case_of, replayed, user
from tests.summarising import SUMMARY, Compacts, CompactsAsync, long_session, newest


def found(policy, *, transcript=None, budget=300, **options):
    return summariser_faults(
        policy, transcript or long_session(), budget=budget, counter=LetterCounter(), **options
    )


def rules(findings):
    return sorted(finding.rule.removeprefix("ctx_summariser_faults.") for finding in findings)


@pytest.mark.parametrize("policy", [Compacts, CompactsAsync, Compacts()])
def test_a_policy_that_survives_them_all(policy):
    assert found(policy) == ()


class Careless(Compacts):
    """Takes whatever comes; ``text`` turns it into the summary."""

    def __call__(self, messages, budget, *, count, summarise):
        request = [*self.head(messages, self.summary), *messages[self.upto :]]
        if count(request) <= budget:
            return request
        cut = max(self.upto, newest(messages, budget, count))
        self.summary, self.upto = self.text(summarise, messages[self.upto : cut]), cut
        return [*self.head(messages, self.summary), *messages[cut:]]

    def text(self, summarise, shown):
        return summarise(shown) or "(no summary)"


def test_the_text_of_an_error_is_no_summary():
    class Says(Careless):
        def text(self, summarise, shown):
            try:
                return summarise(shown)
            except Exception as error:
                return f"Error generating summary: {error}"

    findings = found(Says, faults=["raises", "times-out"])
    assert rules(findings) == ["error-as-summary", "lost"]
    error = next(f for f in findings if f.rule.endswith("error-as-summary"))
    assert error.measured == (
        f"{SUMMARY}Error generating summary: scripted fault: the model is overloaded "
        "(ctx-7f3a91); with 2 of the faults: raises, times-out"
    )
    assert "summariser that raises, as on an overloaded provider" in error.where


def test_nothing_is_cut_without_a_summary():
    findings = found(Careless, faults=["empty", "calls-a-tool"])
    assert rules(findings) == ["lost"]
    assert findings[0].measured == (
        "4 messages cut, 0 summaries made; with 2 of the faults: empty, calls-a-tool"
    )
    assert found(Careless, faults=["empty"], fallback=True) == ()


def test_what_persists_is_lost_once_and_said_once():
    from pytest_ctxguard.policies.declare import persists

    def cuts(messages, budget, *, count, summarise):
        if count(messages) <= budget:
            return list(messages)
        summarise(messages)
        return list(messages[newest(messages, budget, count) :])

    findings = found(persists(cuts), faults=["empty"], in_a_row=99)
    lost = [f for f in findings if f.rule == "ctx_summariser_faults.lost"]
    assert len(lost) == 1
    assert ", message 0, " in lost[0].where


def test_an_error_that_is_let_through_keeps_the_history():
    class LetsThrough(Careless):
        def text(self, summarise, shown):
            text = summarise(shown)
            if not text:
                raise RuntimeError("no summary")
            return text

    assert found(LetsThrough, faults=["raises", "times-out", "empty", "calls-a-tool"]) == ()


def test_an_accident_is_none():
    class Strips(Careless):
        def text(self, summarise, shown):
            return summarise(shown).strip()

    findings = found(Strips, faults=["calls-a-tool"])
    assert rules(findings) == ["crashed"]
    assert findings[0].measured.startswith(
        "AttributeError: 'NoneType' object has no attribute 'strip'"
    )
    assert "raised by policy" in findings[0].why


def test_content_that_is_none_breaks_the_request():
    class Unchecked(Careless):
        def head(self, messages, summary):
            content = 7 if summary == "(no summary)" else summary
            return [messages[0], *([{"role": "user", "content": content}] if summary else [])]

    assert rules(found(Unchecked, faults=["calls-a-tool"])) == ["crashed"]


def test_asking_for_ever():
    class Insists(Careless):
        def text(self, summarise, shown):
            while True:
                try:
                    if text := summarise(shown):
                        return text
                except RuntimeError:
                    pass

    findings = found(Insists, faults=["raises", "empty"])
    assert rules(findings) == ["endless"]
    assert "did not end at call" in findings[0].measured


def test_asking_again_at_every_call():
    class Retries(Compacts):
        def __call__(self, messages, budget, *, count, summarise):
            self.not_before = 0
            return super().__call__(messages, budget, count=count, summarise=summarise)

    findings = found(Retries, faults=["raises", "echoes"])
    assert rules(findings) == ["loop"]
    assert findings[0].what.startswith("the summariser is asked at ")
    assert "summariser that raises" in findings[0].where


def test_a_summary_that_grows():
    findings = found(Careless, faults=["longer", "echoes"])
    assert "grew" in rules(findings)


def test_a_policy_that_never_asks():
    findings = found(lambda messages, summarise: list(messages))
    assert [f.rule for f in findings] == [
        "ctx_summary.never-asked",
        "ctx_summariser_faults.never-asked",
    ]


def test_facts_not_shown_are_found_too():
    def newest_only(messages, budget, *, count, summarise):
        if count(messages) <= budget:
            return list(messages)
        cut = newest(messages, budget, count)
        text = summarise(messages[cut - 1 : cut])
        return [messages[0], user(SUMMARY + text), *messages[cut:]]

    findings = found(newest_only, faults=["stops-at-length"], in_a_row=99)
    assert [f.rule for f in findings] == ["ctx_summary.fact-not-shown"]


def test_a_replay_that_cannot_be_run_again():
    replay = replayed(list, long_session())
    with pytest.raises(UsageError, match="cannot be run again"):
        SummariserFaults().judge(case_of(replay))


@pytest.mark.parametrize(
    "arguments", [{"faults": "raises"}, {"faults": ["sleeps"]}, {"in_a_row": 0}]
)
def test_impossible_arguments(arguments):
    with pytest.raises(UsageError, match=r"ctx_summariser_faults: .* Usage: ctx_summariser_faults"):
        SummariserFaults(**arguments)


def test_every_fault_by_default():
    replay = replayed(Compacts, long_session(), budget=300, summariser=lambda shown: "x")
    asked = []

    def again(*, summariser):
        asked.append(summariser.fault)
        return replay

    judgement = SummariserFaults().judge(case_of(replay, again=again))
    assert asked == list(FAULTS)
    assert judgement.summary.startswith("8 faults, ")
