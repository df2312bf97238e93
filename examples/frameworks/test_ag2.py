"""AG2 1.x: assembly policies, and compaction after a turn.

Seen with AG2 1.2.1.
"""

import pytest
from ag2.compact import CompactTrigger, TailWindowCompact
from ag2.policies import SlidingWindowPolicy, TokenBudgetPolicy

from pytest_ctxguard import ContextGateFailure, adapt


def budgeted():
    return adapt.ag2(TokenBudgetPolicy(max_tokens=1500))


def sliding():
    return adapt.ag2(SlidingWindowPolicy(max_events=24))


def tail():
    return adapt.ag2_compact(
        lambda: TailWindowCompact(target=20), trigger=CompactTrigger(max_events=40)
    )


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("make", [sliding, tail], ids=["sliding", "tail"])
def test_a_chat_keeps_its_pairs(ctx_replay, chat, facts, make):
    ctx_replay(chat, make(), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="the last 24 events of a tool loop are four rounds, without the task",
)
@pytest.mark.ctx_wellformed
def test_a_window_keeps_the_task(ctx_replay, agentic):
    ctx_replay(agentic, sliding())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="it measures how an event prints, and long results print shortened",
)
@pytest.mark.ctx_budget(2000)
@pytest.mark.parametrize("topology", ["chat", "agentic"])
def test_a_token_budget_is_kept(ctx_replay, request, topology):
    ctx_replay(request.getfixturevalue(topology), budgeted())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="compaction runs after a turn, and a tool loop is one turn",
)
@pytest.mark.ctx_budget(4000)
def test_a_tool_loop_is_compacted(ctx_replay, agentic):
    ctx_replay(agentic, tail())


def test_how_often(broken, chat, agentic):
    assert broken("wellformed", agentic, sliding()) == {
        "wellformed.current-task": "36 of 41 requests break this rule",
    }
    assert broken("budget", chat, budgeted(), 2000) == {"budget.over": "2436 tokens at the largest"}
    assert broken("budget", agentic, budgeted(), 2000) == {
        "budget.over": "2540 tokens at the largest"
    }
    assert broken("honest", agentic, tail()) == {"honest.idle": "0 of 41 requests"}


def test_its_counter_does_not_see_what_tools_return(broken, agentic):
    found = broken("honest", agentic, budgeted(), budget=2000)
    assert "tool results" in found["honest.blind-counter"]
