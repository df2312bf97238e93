"""Each law is broken by a policy made to break it, and by nothing else."""

import asyncio

import pytest

from pytest_ctxguard import broken_law
from pytest_ctxguard.checks.laws.catalogue import DECLARED, LAWS, UNIVERSAL
from pytest_ctxguard.checks.laws.judging import LawPlan, judge_laws
from pytest_ctxguard.errors import UsageError
from tests.checks.laws.faulty import (
    FAULTY,
    MENDED,
    NOTE,
    characters,
    fitted,
    gives_its_own_list,
    in_order_of_a_set,
)


def judged(policy, **options):
    """Judge a policy that no other process can import, so that none is started."""
    return judge_laws(LawPlan(lambda: policy, counter=characters, **options))


def broken(verdict):
    return {finding.rule.removeprefix("ctx_policy_laws.") for finding in verdict.judgement.findings}


def declares(law):
    return (law,) if law in DECLARED else ()


def test_there_is_a_faulty_policy_for_each_law():
    assert {*FAULTY, "deterministic"} == {*LAWS}
    assert {*UNIVERSAL, *DECLARED} == {*LAWS}


@pytest.mark.parametrize("law", FAULTY)
def test_a_policy_made_to_break_it_breaks_it_and_no_other(law):
    verdict = judged(FAULTY[law], declares=declares(law))
    assert broken(verdict) == {law}
    assert verdict.judgement.verdict == "fail"
    assert len(verdict.tests) == 1


@pytest.mark.parametrize("law", FAULTY)
def test_the_mended_policy_keeps_it_and_all_others(law):
    verdict = judged(
        MENDED[law],
        declares=declares(law),
        inserts=NOTE,
        expect_identity=law == "always-extended",
    )
    assert broken(verdict) == set()
    assert verdict.tests == ()


def test_the_list_it_was_given_is_not_returned():
    verdict = judged(gives_its_own_list)
    assert broken(verdict) == {"unmutated"}
    assert "the very list" in verdict.judgement.findings[0].what
    assert broken_law("unmutated", gives_its_own_list, [{"role": "user", "content": "a"}], budget=9)


def test_determinism_is_held_across_hash_seeds():
    verdict = judge_laws(LawPlan(in_order_of_a_set, counter=characters, max_examples=30))
    assert broken(verdict) == {"deterministic"}
    assert "two processes of different PYTHONHASHSEED" in verdict.judgement.summary
    assert "PYTHONHASHSEED" in verdict.judgement.findings[0].what
    kept = judge_laws(LawPlan(fitted, counter=characters, max_examples=30))
    assert broken(kept) == set()
    assert "by two processes of different PYTHONHASHSEED (12 runs)" in kept.judgement.summary


def test_where_it_cannot_be_imported_the_report_says_so():
    verdict = judged(fitted, max_examples=5)
    assert "by two fresh policies in this process" in verdict.judgement.summary
    assert "not across PYTHONHASHSEED: it has no name to import it by" in verdict.judgement.summary


def test_a_random_choice_is_seen_in_this_process():
    import random

    def any_of_them(messages, budget, count):
        sent = fitted(messages, budget, count)
        gone = random.random() < 0.5 and len(sent) < len(messages)
        return fitted(messages, budget // 2, count) if gone else sent

    verdict = judge_laws(LawPlan(any_of_them, counter=characters))
    assert "deterministic" in broken(verdict)


def test_inside_a_running_loop_a_pasted_test_says_what_to_do():
    async def body():
        broken_law("order", fitted, [{"role": "user", "content": "a"}], counter=characters)

    with pytest.raises(UsageError, match="broken_law was called inside a running event loop"):
        asyncio.run(body())


def test_of_a_policy_that_only_raises_nothing_else_is_said():
    def raises(messages):
        raise RuntimeError("no")

    assert judge_laws(LawPlan(raises, counter=characters)).judgement.counts == {"answers": 1}


def test_a_policy_that_refuses_everything_is_idle():
    def refuses(messages):
        raise RuntimeError("no")

    plan = LawPlan(refuses, counter=characters, refuses=RuntimeError)
    assert judge_laws(plan).judgement.counts == {"idle": 1}
