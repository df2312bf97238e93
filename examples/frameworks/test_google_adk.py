"""Google ADK: ``ContextFilterPlugin``.

Seen with google-adk 2.13.0.
"""

import pytest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

from pytest_ctxguard import ContextGateFailure, adapt


def kept(**options):
    return adapt.google_adk(ContextFilterPlugin(num_invocations_to_keep=3, **options))


def failing(contents):
    raise KeyError("role")


def swallowed():
    return adapt.google_adk(ContextFilterPlugin(custom_filter=failing))


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_wellformed(provider="gemini")
@pytest.mark.ctx_budget(2000)
@pytest.mark.ctx_carried("rule", at="every")
def test_a_chat_keeps_its_pairs(ctx_replay, chat, facts):
    ctx_replay(chat, kept(), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="a tool loop is one invocation, and no invocation is cut",
)
@pytest.mark.ctx_budget(4000)
def test_a_tool_loop_is_cut(ctx_replay, agentic):
    ctx_replay(agentic, kept())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="a filter that raises is logged, and the request goes out as it was",
)
@pytest.mark.ctx_budget(4000)
def test_a_failing_filter_is_noticed(ctx_replay, chat):
    ctx_replay(chat, swallowed())


def test_how_often(replayed, agentic):
    assert replayed(agentic, kept()).judge.honest().counts == {"idle": 41}
    assert max(replayed(agentic, kept()).tokens.by_call) == 12050


def test_remove_amount_only_delays_the_first_cut(ctx_replay, chat):
    replay = ctx_replay(chat, kept(remove_amount=5))
    sizes = [len(step.request.messages) for step in replay.steps]
    assert sizes[:14] == list(range(2, 30, 2))
    assert sizes[14:] == [10, 12] * 33
