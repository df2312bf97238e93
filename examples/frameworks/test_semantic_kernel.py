"""Semantic Kernel: ``ChatHistoryTruncationReducer``.

Seen with semantic-kernel 1.45.0.
"""

import pytest
from semantic_kernel.contents import ChatHistoryTruncationReducer

from pytest_ctxguard import ContextGateFailure, adapt


def truncated(**options):
    return adapt.semantic_kernel(lambda: ChatHistoryTruncationReducer(target_count=10), **options)


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("reduced", ["each call", "each turn"])
def test_a_chat_keeps_its_pairs(ctx_replay, chat, facts, reduced):
    ctx_replay(chat, truncated(reduced=reduced), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="the only user message goes, and then nothing more, however many rounds there are",
)
@pytest.mark.ctx_wellformed
def test_a_tool_loop_keeps_its_task(ctx_replay, agentic):
    ctx_replay(agentic, truncated())


@pytest.mark.xfail(
    strict=True, raises=ContextGateFailure, reason="a run of calls and results is not cut"
)
@pytest.mark.ctx_budget(4000)
@pytest.mark.parametrize("reduced", ["each call", "each turn"])
def test_a_tool_loop_is_cut(ctx_replay, agentic, reduced):
    ctx_replay(agentic, truncated(reduced=reduced))


def test_how_often(ctx_replay, replayed, agentic):
    assert replayed(agentic, truncated()).judge.wellformed().counts == {"current-task": 36}
    assert max(replayed(agentic, truncated()).tokens.by_call) == 12015
    assert replayed(agentic, truncated(reduced="each turn")).judge.honest().counts == {"idle": 41}
    last = ctx_replay(agentic, truncated()).final.request.messages
    assert len(last) == 81, "for a target of 10"
