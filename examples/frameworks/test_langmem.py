"""LangMem: ``summarize_messages``, with the running summary of a graph's state.

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


def test_how_often(broken, chat, agentic):
    scripted = {"summariser": ScriptedSummariser()}
    assert broken("wellformed", chat, policy, **scripted) == {
        "wellformed.current-round": "9 of 80 requests break this rule",
        "wellformed.current-task": "9 of 80 requests break this rule",
    }
    assert broken("wellformed", agentic, policy, **scripted) == {
        "wellformed.current-round": "9 of 41 requests break this rule",
        "wellformed.current-task": "38 of 41 requests break this rule",
    }
