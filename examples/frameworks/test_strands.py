"""Strands Agents: ``SlidingWindowConversationManager``.

Seen with strands-agents 1.62.0.
"""

import pytest
from strands.agent.conversation_manager import SlidingWindowConversationManager

from pytest_ctxguard import ContextGateFailure, adapt


def window(**options):
    return adapt.strands(lambda: SlidingWindowConversationManager(window_size=12, **options))


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("per_turn", [False, True], ids=["after turns", "before calls"])
def test_a_chat_keeps_its_pairs(ctx_replay, chat, facts, per_turn):
    ctx_replay(chat, window(per_turn=per_turn), facts=facts)


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(3000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_a_pinned_task_stays(ctx_replay, agentic, facts):
    ctx_replay(agentic, window(per_turn=True, pin_first=1), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="before each call the window drops the task of a tool loop; pin_first=1 keeps it",
)
@pytest.mark.ctx_wellformed
def test_a_task_stays_without_a_pin(ctx_replay, agentic):
    ctx_replay(agentic, window(per_turn=True))


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="by default it acts after a turn, and a tool loop is one turn",
)
@pytest.mark.ctx_budget(3000)
def test_a_tool_loop_is_cut_by_default(ctx_replay, agentic):
    ctx_replay(agentic, window())


def test_how_often(replayed, agentic):
    assert replayed(agentic, window(per_turn=True)).judge.wellformed().counts == {
        "current-task": 35
    }
    assert replayed(agentic, window()).judge.honest().counts == {"idle": 41}
    assert max(replayed(agentic, window()).tokens.by_call) == 12050
