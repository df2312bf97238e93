"""LangMem: ``summarize_messages``, with the running summary of a graph's state.

It summarises up to the message that reaches ``max_tokens_before_summary``. Of a long history given
at once that is one in the middle, and what comes after is kept. Called before each model call, as
by its own ``SummarizationNode``, it is the newest message: question, tool call and result are all
gone from the request, which is two system messages.

Seen with langmem 0.0.30.
"""

from functools import partial

import pytest
from langmem.short_term import summarize_messages

from pytest_ctxguard import ContextGateFailure, adapt
from pytest_ctxguard.testing import ScriptedSummariser


def policy(summarise):
    model = adapt.langchain_model(summarise)
    return adapt.langmem(
        partial(
            summarize_messages,
            model=model,
            max_tokens=1500,
            max_tokens_before_summary=1000,
            max_summary_tokens=128,
        )
    )


@pytest.mark.ctx_summary
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
@pytest.mark.parametrize("topology", ["chat", "agentic"])
def test_the_summariser_is_shown_what_goes(ctx_replay, request, topology, facts):
    transcript = request.getfixturevalue(topology)
    ctx_replay(transcript, policy, facts=facts, summariser=ScriptedSummariser())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="what is over the limit is summarised whole, question and newest round included",
)
@pytest.mark.ctx_wellformed
def test_the_current_question_stays(ctx_replay, chat):
    ctx_replay(chat, policy, summariser=ScriptedSummariser())


def test_what_is_sent_when_it_summarises(ctx_replay, chat):
    replay = ctx_replay(chat, policy, summariser=ScriptedSummariser())
    first = next(step for step in replay.steps if step.request.summaries)
    assert [m["role"] for m in chat.messages[: first.call.history][-3:]] == [
        "user", "assistant", "tool",
    ]  # fmt: skip
    assert [message["role"] for message in first.request.messages] == ["system", "system"]


def test_how_often(replayed, chat, agentic):
    scripted = {"summariser": ScriptedSummariser()}
    assert replayed(chat, policy, **scripted).judge.wellformed().counts == {
        "current-round": 9,
        "current-task": 9,
    }
    assert replayed(agentic, policy, **scripted).judge.wellformed().counts == {
        "current-round": 9,
        "current-task": 38,
    }
