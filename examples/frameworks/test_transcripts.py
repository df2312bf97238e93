"""The two transcripts, uncut: what is found under a policy is the policy's doing."""

import pytest

from pytest_ctxguard import full_history


@pytest.mark.parametrize(
    ("topology", "calls", "tokens"), [("chat", 80, 13_124), ("agentic", 41, 12_050)]
)
def test_nothing_is_broken_before_a_policy_cuts(ctx_replay, request, topology, calls, tokens):
    replay = ctx_replay(request.getfixturevalue(topology), full_history)
    judged = replay.judge.wellformed()
    assert (judged.counts, judged.requests) == ({}, calls)
    assert replay.tokens.final == tokens
