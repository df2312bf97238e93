"""Recall over cycles of compaction."""

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.recall.drift import compactions, drift
from pytest_ctxguard.replay.run import Plan, run
from tests.factories import LetterCounter, employee, session, user
from tests.summarising import long_session

BUDGET = 300


def plan(answer="The number is 4417.", *, policy=SummaryCompaction, transcript=None, **changes):
    def summarise(shown):
        return answer(shown) if callable(answer) else answer

    fields = {
        "transcript": transcript or long_session(),
        "policy": policy,
        "counter": LetterCounter(),
        "budget": BUDGET,
        "summariser": summarise,
    }
    return Plan(**{**fields, **changes})


def fading(shown):
    """A number is kept by the first summary and no other."""
    text = " ".join(message["content"] for message in shown)
    return "Talk." if "summary" in text and "It is 4417" in text else "It is 4417."


def test_a_fact_is_asked_for_before_and_after_each_compaction():
    made = plan()
    replay = run(made)
    cut = compactions(replay)
    cycles = drift(made)
    assert [cycle.cycles for cycle in cycles] == list(range(len(cut) + 1))
    assert len(cut) > 2
    starts = [turn.start for turn in made.transcript.turns]
    for cycle, history in zip(cycles[1:], cut, strict=True):
        expected = next((n for n, at in enumerate(starts, 1) if at >= history), len(starts) + 1)
        assert cycle.turn == expected
    assert cycles[0].turn == 2
    assert all(cycle.carried and cycle.answers is None for cycle in cycles)
    assert [cycle.fate.state for cycle in cycles[1:]] == ["kept"] * len(cut)


def test_what_one_summary_drops_stays_dropped():
    def drops(shown):
        return "Talk."

    first, *rest = drift(plan(drops))
    assert (first.cycles, first.carried) == (0, True)
    assert rest
    assert not any(cycle.carried for cycle in rest)
    assert {cycle.fate.state for cycle in rest} == {"shown and dropped"}


def test_what_the_second_summary_drops_was_carried_after_the_first():
    assert [cycle.carried for cycle in drift(plan(fading))][:3] == [True, True, False]


def test_each_probe_is_asked_of_the_replay():
    asked = []

    def ask(replay, fact):
        asked.append(replay.probes[fact][0].messages[-1]["content"])
        return f"answers to {fact}"

    cycles = drift(plan(), ask=ask)
    assert asked == ["Which employee number?"] * len(cycles)
    assert len({cycle.answers for cycle in cycles}) == len(cycles)


def test_a_fact_planted_late_has_seen_fewer_cycles():
    messages = [*long_session().messages]
    messages[-1] = user("My number is 5520.")
    late = employee(
        name="late", value="5520", planted_at=len(messages) - 1, asked_at=None, look_alikes=()
    )
    transcript = long_session(messages=tuple(messages), facts=(employee(asked_at=None), late))
    cycles = drift(plan("4417", transcript=transcript))
    assert [cycle.cycles for cycle in cycles if cycle.fact == "late"] == [0]
    assert max(cycle.cycles for cycle in cycles if cycle.fact == "employee") > 2


@pytest.mark.parametrize("policy", [full_history, SlidingWindow(last=3)])
def test_a_policy_that_does_not_summarise(policy):
    with pytest.raises(UsageError, match="nothing of 'long' was compacted within a budget of 300"):
        drift(plan(policy=policy))


def test_a_summariser_that_always_fails_compacts_nothing():
    with pytest.raises(UsageError, match="nothing of 'long' was compacted"):
        drift(plan(lambda shown: None))


def test_a_transcript_without_facts():
    with pytest.raises(UsageError, match="'small' has no facts; there is nothing to ask"):
        drift(plan(transcript=session(facts=())))
