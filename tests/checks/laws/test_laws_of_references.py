"""The reference policies under law: which ones keep all of them, and what the others give up."""

import pytest

from pytest_ctxguard.checks.laws.judging import LawPlan, judge_laws
from pytest_ctxguard.policies.catalogue import ENTRIES, Setting
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.three_step_fit import (
    CLEARED_NOTE,
    TRIMMED_NOTE,
    CountedThreeStepFit,
    ThreeStepFit,
)
from pytest_ctxguard.policies.user_messages import UserMessages
from pytest_ctxguard.testing import ScriptedSummariser
from pytest_ctxguard.transcript.model import Transcript
from tests.checks.laws.faulty import characters

NOTES = (CLEARED_NOTE, TRIMMED_NOTE)
BELOW = "identity-below-budget"


def estimate(messages):
    return ThreeStepFit().estimator.request(messages)


def broken(policy, **options):
    verdict = judge_laws(LawPlan(policy, **{"counter": characters, **options}))
    return {finding.rule.removeprefix("ctx_policy_laws.") for finding in verdict.judgement.findings}


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (full_history, {"expect_identity": True, "declares": ("always-extended", "idempotent")}),
        (UserMessages, {"sweep": {"last_turns": range(1, 6)}, "declares": "idempotent"}),
        (ThreeStepFit(), {"inserts": NOTES, "counter": estimate, "declares": BELOW}),
        (CountedThreeStepFit(), {"inserts": NOTES, "declares": (BELOW, "idempotent")}),
    ],
    ids=["full-history", "user-messages", "three-step-fit", "three-step-fit-counted"],
)
def test_kept_all(policy, options):
    assert broken(policy, **options) == set()


def test_the_window_forgets_the_task_in_a_long_turn_and_keeps_the_rest():
    assert broken(SlidingWindow, sweep={"last": range(1, 30)}) == {"current-turn"}


def test_an_estimate_does_not_keep_an_exact_budget():
    def low(messages):
        return 2 * estimate(messages)

    assert broken(ThreeStepFit(), inserts=NOTES, counter=low) == {"within-budget"}


def test_an_undeclared_note_is_invented():
    assert broken(ThreeStepFit(), inserts=CLEARED_NOTE, counter=estimate) == {"nothing-invented"}


def test_a_window_may_begin_with_an_answer_which_one_provider_refuses():
    assert broken(SlidingWindow, sweep={"last": range(1, 9)}, provider="anthropic") == {
        "current-turn",
        "well-formed",
    }
    assert broken(CountedThreeStepFit(), inserts=NOTES, provider="anthropic") == set()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_no_reference_policy_raises_or_mutates(entry):
    setting = Setting(
        Transcript(name="any", messages=({"role": "user", "content": "a"},) * 2), budget=500
    )
    found = broken(
        lambda: entry.make(setting),
        inserts="any",
        max_examples=6,
        expect_identity=True,
        summariser=ScriptedSummariser() if entry.summarises else None,
    )
    assert not found & {"answers", "unmutated", "order", "deterministic"}
