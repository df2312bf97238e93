"""Haystack: compactors, in an agent's ``before_llm`` hook and alone. All is well.

Seen with haystack-ai 3.4.1.
"""

from functools import partial

import pytest
from haystack.hooks.compaction import (
    CompactionHook,
    SlidingWindowCompactor,
    ToolResultPruningCompactor,
)
from haystack.token_counters import ApproximateTokenCounter

from pytest_ctxguard import adapt


def sliding():
    return adapt.haystack(
        lambda: CompactionHook(
            SlidingWindowCompactor(), context_window=2000, compact_at=0.75, compact_to=0.4
        )
    )


def pruned():
    return adapt.haystack(
        lambda: CompactionHook(
            ToolResultPruningCompactor(min_tokens=50),
            context_window=2000,
            compact_at=0.75,
            compact_to=0.4,
        )
    )


def alone():
    return adapt.haystack(
        partial(
            SlidingWindowCompactor().compact,
            target_tokens=1500,
            token_counter=ApproximateTokenCounter(),
        )
    )


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("make", [sliding, alone], ids=["hook", "alone"])
def test_a_chat_keeps_pairs_rule_and_question(ctx_replay, chat, facts, make):
    ctx_replay(chat, make(), facts=facts)


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", "case", at="every")
@pytest.mark.parametrize("make", [sliding, alone], ids=["hook", "alone"])
def test_a_tool_loop_keeps_its_task(ctx_replay, agentic, facts, make):
    ctx_replay(agentic, make(), facts=facts)


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(4200)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_pruned_results_leave_everything_else(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, pruned(), facts=facts, name="chat")
    ctx_replay(agentic, pruned(), facts=facts, name="agentic")
