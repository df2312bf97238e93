"""AG2 before 1.0: ``MessageHistoryLimiter``.

Seen with AG2 0.14.0.
"""

import pytest
from autogen.agentchat.contrib.capabilities.transforms import MessageHistoryLimiter

from pytest_ctxguard import ContextGateFailure, adapt


def limited(messages=10, **options):
    return adapt.ag2_classic(MessageHistoryLimiter(max_messages=messages, **options))


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_a_kept_first_message_is_the_task(ctx_replay, agentic, facts):
    ctx_replay(agentic, limited(9, keep_first_message=True), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="the oldest message it keeps is put behind the next one: a result before its call",
)
@pytest.mark.ctx_wellformed
@pytest.mark.parametrize("messages", [9, 10])
def test_pairs_stay_in_order(ctx_replay, chat, messages):
    ctx_replay(chat, limited(messages))


def test_how_often(replayed, chat, agentic):
    assert replayed(chat, limited()).judge.wellformed().counts == {
        "unanswered-call": 38,
        "orphan-result": 38,
    }
    assert replayed(agentic, limited()).judge.wellformed().counts == {
        "unanswered-call": 36,
        "orphan-result": 36,
    }


def test_what_is_swapped(ctx_replay, agentic):
    roles = [m["role"] for m in ctx_replay(agentic, limited()).final.request.messages]
    assert roles[:4] == ["system", "tool", "assistant", "assistant"]
