"""LiteLLM: ``trim_messages``.

Seen with litellm 1.110.2.
"""

import logging
from functools import partial

import pytest
from litellm.utils import trim_messages

from pytest_ctxguard import ContextGateFailure, adapt


def trimmed(**options):
    return adapt.litellm(partial(trim_messages, **(options or {"max_tokens": 1500})))


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, logger="LiteLLM")  # it logs each error that it swallows


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="it begins with a result whose call is gone, its middle replaced by '..'",
)
@pytest.mark.ctx_wellformed
def test_pairs_stay_whole(ctx_replay, chat):
    ctx_replay(chat, trimmed())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="it raises a TypeError on the content None of a call, swallows it, returns its input",
)
@pytest.mark.ctx_budget(2000)
def test_the_budget_is_kept(ctx_replay, agentic):
    ctx_replay(agentic, trimmed())


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="a model it does not know has no limit, without a word",
)
@pytest.mark.ctx_budget(2000)
def test_an_unknown_model_has_a_limit(ctx_replay, chat):
    ctx_replay(chat, trimmed(model="the-new-one"))


def test_how_often(replayed, chat, agentic):
    assert replayed(chat, trimmed()).judge.wellformed().counts == {"orphan-result": 42}
    assert replayed(agentic, trimmed()).judge.wellformed().counts == {"orphan-result": 22}


def test_how_much_is_returned_as_it_came(replayed, agentic):
    replay = replayed(agentic, trimmed(), budget=2000)
    assert replay.judge.honest().counts["fail-open"] == 13
    assert max(replay.tokens.by_call) == 11629
