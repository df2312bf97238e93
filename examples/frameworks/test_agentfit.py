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


def test_how_often_in_a_chat(replayed, chat):
    assert replayed(chat, fitted("drop-oldest")).judge.wellformed().counts == {"orphan-result": 1}
    assert replayed(chat, fitted("drop-middle")).judge.wellformed().counts == {
        "unanswered-call": 13,
        "orphan-result": 2,
    }


def test_how_often_in_a_tool_loop(replayed, agentic):
    assert replayed(agentic, fitted("drop-oldest")).judge.wellformed().counts == {
        "current-task": 33,
        "orphan-result": 3,
    }
    assert replayed(agentic, fitted("drop-middle")).judge.wellformed().counts == {
        "unanswered-call": 16
    }
