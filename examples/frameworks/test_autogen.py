"""autogen-core: the contexts that an agent has as its ``model_context``.

Seen with autogen-core 0.7.5.
"""

import pytest
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
)

from pytest_ctxguard import ContextGateFailure, adapt


class QuarterCharacters:
    """Counts as a model client that knows no vocabulary does."""

    def count_tokens(self, messages, *, tools=()):
        return sum(len(str(message.content)) // 4 for message in messages)

    def remaining_tokens(self, messages, *, tools=()):
        return 1500 - self.count_tokens(messages)


def buffered():
    return adapt.autogen(lambda: BufferedChatCompletionContext(buffer_size=12))


def head_and_tail():
    return adapt.autogen(lambda: HeadAndTailChatCompletionContext(head_size=2, tail_size=10))


def token_limited(system="apart"):
    return adapt.autogen(
        lambda: TokenLimitedChatCompletionContext(QuarterCharacters(), token_limit=1500),
        system=system,
    )


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_head_and_tail_keep_pairs_and_task(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, head_and_tail(), facts=facts, name="chat")
    ctx_replay(agentic, head_and_tail(), facts=facts, name="agentic")


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
def test_buffered_keeps_the_pairs_of_a_chat(ctx_replay, chat):
    ctx_replay(chat, buffered())


@pytest.mark.xfail(strict=True, raises=ContextGateFailure, reason="a buffer drops the task")
@pytest.mark.ctx_wellformed
def test_buffered_keeps_the_task(ctx_replay, agentic):
    ctx_replay(agentic, buffered())


def test_how_often_buffered_drops_the_task(replayed, agentic):
    assert replayed(agentic, buffered()).judge.wellformed().counts == {"current-task": 35}


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="autogen#6789, #7955: the message in the middle goes, half a tool round",
)
@pytest.mark.ctx_wellformed
@pytest.mark.parametrize("system", ["apart", "inside"])
def test_token_limited_keeps_the_pairs_of_a_chat(ctx_replay, chat, system):
    ctx_replay(chat, token_limited(system))


def test_how_often_token_limited_breaks_pairs(replayed, chat, agentic):
    assert replayed(chat, token_limited()).judge.wellformed().counts == {
        "unanswered-call": 38,
        "orphan-result": 3,
    }
    assert replayed(agentic, token_limited("inside")).judge.wellformed().counts == {
        "unanswered-call": 35,
        "orphan-result": 24,
    }
