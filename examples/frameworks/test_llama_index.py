"""LlamaIndex: ``ChatMemoryBuffer`` and ``Memory``, the system message kept by the agent.

Seen with llama-index-core 0.14.25.
"""

import pytest
from llama_index.core.memory import ChatMemoryBuffer, Memory

from pytest_ctxguard import ContextGateFailure, adapt


def buffer(**options):
    return adapt.llama_index(lambda: ChatMemoryBuffer.from_defaults(token_limit=1500), **options)


def memory(**options):
    return adapt.llama_index(
        lambda: Memory.from_defaults(
            session_id="museum",
            token_limit=1500,
            chat_history_token_ratio=0.7,
            token_flush_size=300,
        ),
        **options,
    )


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("make", [buffer, memory], ids=["buffer", "memory"])
def test_a_chat_keeps_its_pairs(ctx_replay, chat, facts, make):
    ctx_replay(chat, make(), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="a tool loop over the limit is cut to its last message, a result without its call",
)
@pytest.mark.ctx_wellformed
def test_a_buffer_keeps_the_pairs_of_a_tool_loop(ctx_replay, agentic):
    ctx_replay(agentic, buffer())


@pytest.mark.xfail(
    strict=True, raises=ContextGateFailure, reason="a tool loop is one turn, and no turn is cut"
)
@pytest.mark.ctx_budget(2000)
def test_a_memory_keeps_its_limit_in_a_tool_loop(ctx_replay, agentic):
    ctx_replay(agentic, memory())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="a buffer that is given the system message drops it, too",
)
@pytest.mark.ctx_carried("rule", at="every")
def test_a_buffer_keeps_the_system_message(ctx_replay, chat, facts):
    ctx_replay(chat, buffer(system="inside"), facts=facts)


def test_how_often(ctx_replay, replayed, chat, agentic, facts):
    assert replayed(agentic, buffer()).judge.wellformed().counts == {"orphan-result": 35}
    assert max(replayed(agentic, memory()).tokens.by_call) == 12050
    replay = ctx_replay(chat, buffer(system="inside"), facts=facts)
    kept = replay.carried("rule").requests("every")
    assert (sum(map(bool, kept)), len(kept)) == (11, 80)


def test_what_its_counter_does_not_see(replayed, agentic):
    judged = replayed(agentic, buffer(), budget=2000).judge.honest()
    [blind] = [finding for finding in judged.findings if finding.rule == "ctx_honest.blind-counter"]
    assert blind.what.endswith("instructions and tool-call arguments and tool definitions")
