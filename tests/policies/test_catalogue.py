"""The reference policies by name, and the control among them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ctxguard import strategies as ctx
from pytest_ctxguard.policies.catalogue import Setting, reference_policies
from pytest_ctxguard.policies.facts_only import FactsOnly
from pytest_ctxguard.policies.sub_agent_report import SubAgentReport
from pytest_ctxguard.policies.sub_agent_scope import SubAgentScope
from pytest_ctxguard.policies.summarisers import ScriptedSummariser
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.run import run
from pytest_ctxguard.transcript.library import find
from pytest_ctxguard.transcript.wellformed import PROVIDERS
from tests.factories import encoder, session, shard

SUMMARISING = ["compaction", "compaction-notes", "sub-agent-report"]


def replay(name, transcript="incident-40", budget=4000):
    setting = Setting(find(transcript), budget)
    entry = reference_policies()[name]
    return run(
        Plan(
            transcript=setting.transcript,
            policy=entry.make(setting),
            counter=encoder(),
            budget=budget,
            summariser=ScriptedSummariser() if entry.summarises else None,
        )
    )


def test_every_policy_of_the_reports_is_listed():
    entries = reference_policies()
    assert len(entries) == 15
    assert [name for name, entry in entries.items() if entry.name != name] == []
    assert [entry.name for entry in entries.values() if entry.summarises] == SUMMARISING


@pytest.mark.parametrize("name", reference_policies())
def test_each_is_well_formed_on_report_bs_session(name):
    for step in replay(name).steps:
        assert not PROVIDERS["openai"](step.request.messages)


@pytest.mark.parametrize("name", reference_policies())
@pytest.mark.parametrize("transcript", ["short-chat", "agentic-docs"])
def test_each_can_be_made_for_any_session(name, transcript):
    assert replay(name, transcript).steps


def test_each_makes_a_new_one_each_time():
    setting = Setting(session(), 4000)
    compaction = reference_policies()["compaction"]
    assert compaction.make(setting) is not compaction.make(setting)


def test_the_sub_agents_turns_are_report_bs():
    setting = Setting(find("incident-40"), 4000)
    entries = reference_policies()
    scope = entries["sub-agent-scope"].make(setting)
    report = entries["sub-agent-report"].make(setting)
    assert scope == SubAgentScope(first_turn=17, last_turn=19)
    assert report == SubAgentReport(first_turn=17, last_turn=19)


def test_the_sub_agent_of_a_session_without_facts_works_through_its_first_turns():
    setting = Setting(session(facts=()), 4000)
    made = reference_policies()["sub-agent-scope"].make(setting)
    assert (made.first_turn, made.last_turn) == (1, 3)


def test_the_control_sees_the_two_messages_and_little_else():
    made = replay("facts-only")
    for fact in made.transcript.facts:
        assert made.carried(fact.name).sources == ("original",)
        for request in made.probes[fact.name]:
            kept = [origin.index for origin in request.origins]
            assert kept[:3] == [0, *sorted(f.planted_at for f in made.transcript.facts)]
            assert len(kept) == 4


def test_facts_that_a_tool_round_plants_keep_the_round():
    messages = session().messages
    sent = FactsOnly(planted_at=(shard().planted_at,))(messages)
    assert sent == [messages[0], messages[4], messages[5], messages[7]]


def test_facts_not_planted_yet_are_not_missed():
    messages = session().messages[:4]
    assert FactsOnly(planted_at=(1, 5))(messages) == [messages[0], messages[1], messages[3]]


@settings(max_examples=60)
@given(history=ctx.histories(), places=st.lists(st.integers(0, 30)))
def test_the_control_is_well_formed_and_never_loses_the_current_turn(history, places):
    sent = FactsOnly(planted_at=places)(history)
    rest = iter(history)
    assert all(any(message is each for each in rest) for message in sent)  # in their order
    assert sent[-1:] == history[-1:]
    assert not PROVIDERS["openai"](sent) or PROVIDERS["openai"](history)
