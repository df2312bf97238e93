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


def test_how_often(replayed, chat, agentic):
    assert replayed(agentic, sliding()).judge.wellformed().counts == {"current-task": 36}
    assert max(replayed(chat, budgeted()).tokens.by_call) == 2436
    assert max(replayed(agentic, budgeted()).tokens.by_call) == 2540
    assert replayed(agentic, tail()).judge.honest().counts == {"idle": 41}


def test_its_counter_does_not_see_what_tools_return(replayed, chat):
    judged = replayed(chat, budgeted(), budget=2000).judge.honest()
    [blind] = [finding for finding in judged.findings if finding.rule == "ctx_honest.blind-counter"]
    assert "tool results" in blind.what
