"""Pydantic AI: a history processor, and the compaction of its harness.

Seen with pydantic-ai-slim 2.62.0, pydantic-ai-harness 0.62.0.
"""

import pytest
from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction

from pytest_ctxguard import ContextGateFailure, adapt


def newest_five(messages):
    return messages[-5:]


def newest():
    return adapt.pydantic_ai(newest_five)


def sliding():
    return adapt.pydantic_ai(SlidingWindowCompaction(max_tokens=1500, keep_tokens=800))


def cleared():
    return adapt.pydantic_ai(ClearToolResults(max_tokens=1500))


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_a_sliding_window_keeps_pairs_and_first_question(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, sliding(), facts=facts, name="chat")
    ctx_replay(agentic, sliding(), facts=facts, name="agentic")


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(4200)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_cleared_results_leave_everything_else(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, cleared(), facts=facts, name="chat")
    ctx_replay(agentic, cleared(), facts=facts, name="agentic")


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="messages[-5:], the documentation's example, keeps no system message",
)
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("topology", ["chat", "agentic"])
def test_the_newest_five_have_the_rule(ctx_replay, request, topology, facts):
    ctx_replay(request.getfixturevalue(topology), newest(), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="in a tool loop messages[-5:] keeps no task either",
)
@pytest.mark.ctx_wellformed
def test_the_newest_five_have_the_task(ctx_replay, agentic):
    ctx_replay(agentic, newest())


def test_how_often(ctx_replay, replayed, chat, agentic, facts):
    assert replayed(agentic, newest()).judge.wellformed().counts == {"current-task": 38}
    kept = ctx_replay(chat, newest(), facts=facts).carried("rule").requests("every")
    assert (sum(map(bool, kept)), len(kept)) == (3, 80)
