"""The policies' benchmark: its sessions and its arithmetic; nothing here is timed."""

import json

import pytest

from benchmarks import clocked, policies, sessions
from pytest_ctxguard.transcript.wellformed import openai_rules
from tests.factories import encoder


@pytest.mark.parametrize("topology", sessions.TOPOLOGIES)
@pytest.mark.parametrize("size", [10, 50])
def test_a_session_has_so_many_tool_calls_and_is_one_the_provider_takes(topology, size):
    session = sessions.session(topology, size)
    assert sum(len(m.get("tool_calls", ())) for m in session.messages) == size
    assert len(session.tool_rounds) == size
    assert len(session.turns) == (size // sessions.CALLS_A_TURN if topology == "chat" else 1)
    assert openai_rules(session.messages, session.tools) == []
    assert session == sessions.session(topology, size)


@pytest.mark.parametrize("topology", sessions.TOPOLOGIES)
def test_the_shortest_session_that_is_measured_is_over_the_budget(topology):
    session = sessions.session(topology, min(policies.SIZES))
    assert encoder().count(session.messages, tools=session.tools) > sessions.BUDGET


def test_there_are_twenty_policies_and_every_adapter_is_run_or_has_a_reason():
    assert len(sessions.POLICIES) == 20
    assert {*sessions.PERSISTS, *sessions.MUTATES} <= set(sessions.POLICIES)
    adapted = sessions.adapted()
    assert len(adapted) >= 16
    assert all(callable(how) or "not installed" in how for how in adapted.values())


@pytest.mark.parametrize("name", sessions.POLICIES)
def test_every_policy_is_replayed_judged_and_run_by_the_peer(name):
    make = sessions.POLICIES[name]
    session = sessions.session("chat", 25)
    found = clocked.ours(name, make, session, encoder())
    assert found["calls"] == len(session.calls) == 30
    assert found["handled"] > sum(call.history for call in session.calls)
    parts = found["ours_s"] + found["policy_s"] + found["counted_for_policy_s"]
    assert parts == pytest.approx(found["total_s"])
    assert clocked.peer(name, make, session, encoder()) > 0


def test_policies_do_what_they_are_there_for():
    session = sessions.session("agentic", 50)
    whole, cut = (
        clocked.ours(name, sessions.POLICIES[name], session, encoder())["handled"]
        for name in ("full-history", "persisting")
    )
    assert cut <= whole
    clocks = clocked.ours("stateful", sessions.POLICIES["stateful"], session, encoder())
    assert clocks["counted_for_policy_s"] > 0


def rows(ours, *, handled):
    sizes = (50, 100, 200)
    return [
        {
            "tool_calls": n,
            "calls": n,
            "handled": handled(n),
            "memory_mb": 1.0,
            "counted_for_policy_s": 0.0,
            **dict.fromkeys(("total_s", "ours_s", "policy_s", "peer_s"), ours(n)),
        }
        for n in sizes
    ]


@pytest.mark.parametrize(
    ("power", "in_calls", "in_handled"),
    [(1.0, True, True), (1.1, True, True), (1.5, False, True), (2.5, False, False)],
)
def test_what_is_linear_is_told_by_the_slope(power, in_calls, in_handled):
    found = policies.growth(rows(lambda n: n**power / 1e4, handled=lambda n: n**2))
    assert found["exponents"]["ours"] == pytest.approx(power)
    assert (found["linear_in_calls"], found["linear_in_handled"]) == (in_calls, in_handled)


def test_a_bend_at_the_end_is_seen():
    bent = policies.growth(rows(lambda n: max(1.0, (n / 100) ** 4), handled=lambda n: n))
    assert bent["ours_last_doubling"] == pytest.approx(4)
    assert not bent["linear_in_handled"]


def test_the_table_says_what_is_linear_and_what_was_skipped():
    found = rows(lambda n: n / 1e4, handled=lambda n: n**2)
    result = {
        "policies": {"some (chat)": {"sizes": found, **policies.growth(found)}},
        "skipped": {"adapt.x": "x is not installed here"},
    }
    text = policies.table(result)
    (row,) = (line for line in text.splitlines() if line.startswith("some (chat)"))
    assert row.endswith("in calls")
    assert " 1.00 " in row  # the ratio
    assert text.endswith("adapt.x: skipped, x is not installed here")


def test_one_measurement(capsys):
    policies.main(["--one", "full-history", "agentic", "--sizes", "5,10", "--repeats", "1"])
    small, large = json.loads(capsys.readouterr().out)
    assert (small["tool_calls"], large["tool_calls"]) == (5, 10)
    assert large["memory_mb"] is None or large["memory_mb"] >= 0
    assert large["findings"] == 0
