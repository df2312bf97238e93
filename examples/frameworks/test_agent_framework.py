"""Microsoft's Agent Framework: compaction strategies.

Seen with agent-framework-core 1.23.0.
"""

import pytest
from agent_framework import (
    CharacterEstimatorTokenizer,
    SelectiveToolCallCompactionStrategy,
    SlidingWindowStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
)

from pytest_ctxguard import ContextGateFailure, adapt

TOKENIZER = CharacterEstimatorTokenizer()


def truncated(**options):
    return adapt.agent_framework(
        lambda: TruncationStrategy(max_n=1500, compact_to=1000, tokenizer=TOKENIZER, **options),
        tokenizer=TOKENIZER,
    )


def sliding():
    return adapt.agent_framework(
        lambda: SlidingWindowStrategy(keep_last_groups=6), tokenizer=TOKENIZER
    )


def tool_calls():
    return adapt.agent_framework(
        lambda: SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=2),
        tokenizer=TOKENIZER,
    )


def tool_results():
    return adapt.agent_framework(
        lambda: ToolResultCompactionStrategy(keep_last_tool_call_groups=2), tokenizer=TOKENIZER
    )


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize(
    "make", [truncated, sliding, tool_calls], ids=["truncation", "sliding", "tool calls"]
)
def test_a_chat_keeps_its_groups_whole(ctx_replay, chat, facts, make):
    ctx_replay(chat, make(), facts=facts)


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_a_kept_first_user_group_is_the_task(ctx_replay, agentic, facts):
    ctx_replay(agentic, truncated(preserve_first_user_group=True), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="the only user message is the oldest; preserve_first_user_group keeps it",
)
@pytest.mark.ctx_wellformed
@pytest.mark.parametrize("make", [truncated, sliding], ids=["truncation", "sliding"])
def test_a_tool_loop_keeps_its_task(ctx_replay, agentic, make):
    ctx_replay(agentic, make())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="agent-framework#7393: old results are put into the summary word for word",
)
@pytest.mark.ctx_budget(4000)
def test_compacted_results_are_smaller(ctx_replay, agentic):
    ctx_replay(agentic, tool_results())


def test_how_often(replayed, agentic):
    assert replayed(agentic, truncated()).judge.wellformed().counts == {"current-task": 37}
    assert replayed(agentic, sliding()).judge.wellformed().counts == {"current-task": 35}
    assert max(replayed(agentic, tool_results()).tokens.by_call) == 11024


def test_how_much_compacting_results_saves(ctx_replay, agentic):
    last = ctx_replay(agentic, tool_results()).final
    assert (last.history_tokens, last.request.tokens) == (12050, 11024)
