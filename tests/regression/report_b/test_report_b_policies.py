"""Planted facts under every reference policy (report B6 to B8).

An employee number is told in turn 2, the affected shard in turn 19; both are needed in turn 40.
The budget is 4,000 tokens. Summaries and notes are written by the model that answers.
"""

from __future__ import annotations

import pytest

from pytest_ctxguard.policies.catalogue import Setting, reference_policies
from pytest_ctxguard.transcript.library import find

BUDGET = 4000


@pytest.fixture
def under(ctx_replay, ctx_summariser):
    """Return what replays the session under a reference policy."""
    session = find("incident-40")

    def replayed(name, **options):
        entry = reference_policies()[name]
        return ctx_replay(
            session,
            entry.make(Setting(session, BUDGET)),
            budget=BUDGET,
            summariser=ctx_summariser() if entry.summarises else None,
            expect_identity=name == "full-history",
            **options,
        )

    return replayed


def everything(*names):
    """Return parameters for policies that only the whole of the report asks for."""
    return [pytest.param(name, id=name, marks=pytest.mark.everything) for name in names]


REMEMBER = [
    "full-history",
    "user-messages",
    *everything(
        "pinned-in-system",
        "pinned-at-end",
        "elide-tool-results",
        "facts-only",
        "three-step-fit",
        "user-turn-trimmer",
        "clear-tool-uses",
    ),
]
FORGET = [
    "sliding-window",
    *everything("compaction", "compaction-notes", "three-step-fit-counted", "sub-agent-report"),
]


@pytest.mark.parametrize("name", REMEMBER)
@pytest.mark.ctx_wellformed(provider="openai")
@pytest.mark.ctx_carried("employee", "shard")
@pytest.mark.ctx_answered("employee", "shard", at_least=4)
@pytest.mark.ctx_token_cost(max_increase=0.0)
def test_b7_both_facts_are_carried_and_answered(under, name):
    under(name)


@pytest.mark.parametrize("name", FORGET)
@pytest.mark.ctx_wellformed(provider="openai")
@pytest.mark.ctx_carried("employee")
@pytest.mark.ctx_answered("employee", at_least=4)
@pytest.mark.ctx_absent("shard")
@pytest.mark.ctx_unanswered("shard")
@pytest.mark.ctx_token_cost(max_increase=0.0)
def test_b7_the_fact_of_turn_19_is_lost_and_no_answer_says_so(under, name):
    outcomes = under(name).answers("shard").outcomes
    assert "abstained" not in outcomes
    assert set(outcomes) <= {"invented", "neighbour", "other"}


@pytest.mark.ctx_carried("employee")
@pytest.mark.ctx_absent("shard")
def test_b7_a_window_has_the_employee_number_only_because_the_agent_repeated_it(under):
    assert under("sliding-window").carried("employee").sources == ("echoed",)


@pytest.mark.everything
@pytest.mark.parametrize("name", ["compaction", "compaction-notes", "sub-agent-report"])
@pytest.mark.ctx_absent("shard")
def test_b7_the_summariser_was_shown_the_shard_and_left_it_out(under, name):
    replay = under(name)
    assert replay.fate("shard").state == "shown and dropped"
    assert replay.summary_use.input > 0


@pytest.mark.ctx_carried("shard")
@pytest.mark.ctx_answered("shard", at_least=5)
@pytest.mark.ctx_absent("employee")
@pytest.mark.ctx_unanswered("employee")
def test_b8_a_sub_agent_knows_its_scope_and_no_more(under):
    under("sub-agent-scope")
