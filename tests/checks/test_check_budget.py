"""``ctx_budget``."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.finding import Finding
from tests.factories import ApproximateLetters, case_of, replay_of, request, user


def probe(tokens):
    return request(user("Which?"), tokens=tokens)


def test_a_budget_that_is_kept():
    judgement = Budget(100).judge(case_of(replay_of(90, 100, 80)))
    assert judgement.verdict == "pass"
    assert judgement.promise == "budget"
    assert judgement.summary == "largest of 3 requests 100 of 100 tokens"
    assert judgement.metrics == {}
    assert judgement.state == ""


def test_an_approximate_counter_is_named():
    replay = replace(replay_of(90), counter=ApproximateLetters())
    judgement = Budget(100).judge(case_of(replay))
    assert judgement.summary == ("largest of 1 requests 90 of 100 tokens; approximate, by letters")


def test_one_finding_at_the_largest_request():
    judgement = Budget(100).judge(case_of(replay_of(90, 101, 130, label="b")))
    assert judgement.verdict == "fail"
    assert judgement.findings == (
        Finding(
            rule="ctx_budget.over",
            what="2 of 3 requests are over the budget",
            where="transcript small, policy cut 'b', call 2",
            measured="130 tokens at the largest",
            allowed="100 tokens, by letters",
            why="beyond the model's window the provider refuses; below it, it costs more",
            remedy="have the policy count what is sent (its argument `count` is exact: "
            "tools, template and tool-call arguments included)",
            requests=2,
        ),
    )


def test_a_probe_over_the_budget_is_found():
    replay = replay_of(90, probes={"employee": (probe(80), probe(101))})
    judgement = Budget(100).judge(case_of(replay))
    assert judgement.summary == "largest of 3 requests 101 of 100 tokens"
    assert judgement.findings[0].where == "transcript small, policy cut, probe employee/2"


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=4)


@given(SIZES, st.lists(st.integers(1, 60), max_size=3), st.integers(1, 60))
def test_it_fails_if_and_only_if_some_request_is_over(calls, probes, limit):
    asked = {"employee": tuple(map(probe, probes))} if probes else {}
    judgement = Budget(limit).judge(case_of(replay_of(*calls, probes=asked)))
    over = [tokens for tokens in [*calls, *probes] if tokens > limit]
    assert judgement.verdict == ("fail" if over else "pass")
    assert len(judgement.findings) == bool(over)
    if over:
        total = len(calls) + len(probes)
        assert judgement.findings[0].what == (
            f"{len(over)} of {total} requests are over the budget"
        )
        assert judgement.findings[0].measured == f"{max(over)} tokens at the largest"
