"""Inspect: ``trim_messages``, and the compaction of its agents.

Seen with inspect-ai 0.3.285.
"""

from dataclasses import replace
from functools import partial

import pytest
from inspect_ai.model import CompactionEdit, CompactionTrim, trim_messages

from pytest_ctxguard import ContextGateFailure, adapt


def trimmed():
    return adapt.inspect_ai(partial(trim_messages, preserve=0.7))


def edited():
    return adapt.inspect_ai(CompactionEdit(threshold=1500, keep_tool_uses=2, memory=False))


def compacted():
    return adapt.inspect_ai(CompactionTrim(threshold=1500, preserve=0.4, memory=False))


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_compaction_keeps_pairs_and_task(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, compacted(), facts=facts, name="chat")
    ctx_replay(agentic, compacted(), facts=facts, name="agentic")


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(3000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_editing_keeps_pairs_and_task_or_gives_up(ctx_replay, chat, agentic, facts):
    ctx_replay(agentic, edited(), facts=facts)
    with pytest.raises(RuntimeError, match="ompaction"):
        ctx_replay(chat, edited(), judged=False)  # questions and answers alone are over its limit


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_trim_messages_keeps_pairs_and_task(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, trimmed(), facts=facts, name="chat")
    ctx_replay(agentic, trimmed(), facts=facts, name="agentic")


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="it keeps a share of the messages, whatever they weigh",
)
@pytest.mark.ctx_budget(4000)
def test_trim_messages_has_a_limit(ctx_replay, chat):
    ctx_replay(chat, trimmed())


def test_how_much_a_share_is(replayed, chat):
    assert max(replayed(chat, trimmed()).tokens.by_call) == 9255


def test_trim_messages_drops_an_answer_that_comes_last(ctx_replay, chat):
    more = {"role": "assistant", "content": "Shall I go on?"}
    went_on = replace(chat, messages=(*chat.messages, more))
    final = ctx_replay(went_on, trimmed()).final
    assert [m["role"] for m in went_on.messages[-3:]] == ["tool", "assistant", "assistant"]
    assert final.request.messages[-1]["role"] == "tool", "the call after the answer"
