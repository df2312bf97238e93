"""agentfit: ``fit``, told to return what fits.

Seen with agentfit-py 0.1.0.
"""

from functools import partial

import pytest
from agentfit import fit

from pytest_ctxguard import ContextGateFailure, adapt


def fitted(strategy):
    return adapt.agentfit(
        partial(fit, max_tokens=1500, strategy=strategy, on_over_budget="return-partial")
    )


@pytest.mark.ctx_budget(2000)
@pytest.mark.parametrize("strategy", ["drop-oldest", "drop-middle"])
def test_the_budget_is_kept(ctx_replay, chat, strategy):
    ctx_replay(chat, fitted(strategy))


@pytest.mark.xfail(strict=True, raises=ContextGateFailure, reason="it knows nothing of pairs")
@pytest.mark.ctx_wellformed
@pytest.mark.parametrize("strategy", ["drop-oldest", "drop-middle"])
@pytest.mark.parametrize("topology", ["chat", "agentic"])
def test_pairs_and_task_stay(ctx_replay, request, topology, strategy):
    ctx_replay(request.getfixturevalue(topology), fitted(strategy))


def test_how_often_in_a_chat(broken, chat):
    assert broken("wellformed", chat, fitted("drop-oldest")) == {
        "wellformed.orphan-result": "1 of 80 requests break this rule"
    }
    assert broken("wellformed", chat, fitted("drop-middle")) == {
        "wellformed.unanswered-call": "13 of 80 requests break this rule",
        "wellformed.orphan-result": "2 of 80 requests break this rule",
    }


def test_how_often_in_a_tool_loop(broken, agentic):
    assert broken("wellformed", agentic, fitted("drop-oldest")) == {
        "wellformed.current-task": "33 of 41 requests break this rule",
        "wellformed.orphan-result": "3 of 41 requests break this rule",
    }
    assert broken("wellformed", agentic, fitted("drop-middle")) == {
        "wellformed.unanswered-call": "16 of 41 requests break this rule"
    }
