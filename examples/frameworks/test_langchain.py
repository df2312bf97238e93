"""LangChain: ``trim_messages``, and the middleware that clears and that summarises.

Seen with langchain 1.5.2, langchain-core 1.8.3.
"""

from functools import partial

import pytest
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain_core.messages import trim_messages

from pytest_ctxguard import ContextGateFailure, adapt
from pytest_ctxguard.testing import ScriptedSummariser


def trimmed(**options):
    return adapt.langchain(
        partial(
            trim_messages,
            max_tokens=1500,
            token_counter="approximate",  # noqa: S106 - it counts
            include_system=True,
            **options,
        )
    )


def cleared(**options):
    edit = ClearToolUsesEdit(trigger=1500, keep=3, **options)
    return adapt.langchain(ContextEditingMiddleware(edits=[edit]))


def summarised(**options):
    def policy(summarise):
        model = adapt.langchain_model(summarise)
        return adapt.langchain(
            SummarizationMiddleware(
                model, trigger=("tokens", 6000), keep=("messages", 4), **options
            )
        )

    return policy


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
def test_trim_messages_keeps_the_pairs_of_a_chat(ctx_replay, chat, facts):
    ctx_replay(chat, trimmed(start_on="human"), facts=facts)


@pytest.mark.xfail(
    strict=True, raises=ContextGateFailure, reason="without start_on: results without their call"
)
@pytest.mark.ctx_wellformed
def test_trim_messages_keeps_pairs_without_start_on(ctx_replay, chat):
    ctx_replay(chat, trimmed())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="start_on='human' sends the system message alone once the only user message is out",
)
@pytest.mark.ctx_wellformed
def test_trim_messages_keeps_the_task(ctx_replay, agentic):
    ctx_replay(agentic, trimmed(start_on="human"))


def test_what_trim_messages_leaves_of_a_tool_loop(ctx_replay, replayed, chat, agentic):
    assert replayed(agentic, trimmed(start_on="human")).judge.wellformed().counts == {
        "current-round": 36,
        "current-task": 36,
    }
    replay = ctx_replay(agentic, trimmed(start_on="human"))
    alone = [step for step in replay.steps if len(step.request.messages) == 1]
    assert len(alone) == 36
    assert {step.request.messages[0]["role"] for step in alone} == {"system"}
    assert replayed(chat, trimmed()).judge.wellformed().counts == {"orphan-result": 8}


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_budget(4000)
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_clearing_keeps_pairs_and_task(ctx_replay, chat, agentic, facts):
    ctx_replay(chat, cleared(), facts=facts, name="chat")
    ctx_replay(agentic, cleared(), facts=facts, name="agentic")


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="clear_at_least stops the clearing once so much is cleared; Anthropic's clears less "
    "often, not less",
)
@pytest.mark.ctx_budget(4000)
def test_clear_at_least_is_a_minimum(ctx_replay, agentic):
    ctx_replay(agentic, cleared(clear_at_least=800))


def test_what_clear_at_least_leaves(ctx_replay, replayed, agentic):
    assert max(replayed(agentic, cleared(clear_at_least=800)).tokens.by_call) == 11054
    unreachable = ctx_replay(agentic, cleared(clear_at_least=100_000), name="unreachable")
    assert max(unreachable.tokens.by_call) == 2867
    assert unreachable.acted, "Anthropic's own clears nothing when so much cannot be cleared"


@pytest.mark.ctx_summary
def test_a_summariser_that_is_shown_all(ctx_replay, chat, facts):
    policy = summarised(trim_tokens_to_summarize=None)
    ctx_replay(chat, policy, facts=facts, summariser=ScriptedSummariser())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="the summariser is shown the last 4,000 tokens of what it replaces",
)
@pytest.mark.ctx_summary
def test_the_summariser_is_shown_what_goes(ctx_replay, chat, facts):
    ctx_replay(chat, summarised(), facts=facts, summariser=ScriptedSummariser())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="langchain#39261: with no user message in the last 4,000 tokens nobody is asked, and "
    "the history is replaced all the same",
)
@pytest.mark.ctx_summary
def test_the_summariser_is_asked(ctx_replay, agentic):
    ctx_replay(agentic, summarised(), summariser=ScriptedSummariser())


def test_what_the_summariser_is_shown(ctx_replay, replayed, chat, agentic, facts):
    scripted = {"summariser": ScriptedSummariser()}
    judged = replayed(chat, summarised(), facts=facts, **scripted)
    assert judged.judge.summary().counts == {"fact-not-shown": 1}
    [shown, *_] = [asked.tokens for summaries in judged.summaries for asked in summaries]
    assert shown == 4432
    assert replayed(agentic, summarised(), **scripted).judge.summary().counts == {"never-asked": 20}
    replay = ctx_replay(agentic, summarised(), name="agentic", **scripted)
    texts = [message["content"] or "" for message in replay.final.request.messages]
    assert any("too long to summarize" in text for text in texts)
