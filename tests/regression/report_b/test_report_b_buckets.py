"""What fills the context, turn by turn, in the recorded session (report B3 to B5)."""

from __future__ import annotations

import pytest

from pytest_ctxguard import full_history


@pytest.mark.ctx_token_cost(max_increase=0.0)
def test_b3_three_subtractions_recover_the_buckets(ctx_replay):
    replay = ctx_replay("incident-40", full_history)
    messages, tools = replay.final.request.messages, replay.transcript.tools
    count = replay.counter.count
    everything = count(messages, tools=tools)
    without_results = count([m for m in messages if m["role"] != "tool"], tools=tools)
    buckets = replay.buckets()
    assert buckets.total == everything
    assert buckets.tool_results == everything - without_results
    assert buckets.tools == count(messages[:1], tools=tools) - count(messages[:1])


@pytest.mark.ctx_token_cost(max_increase=0.0)
def test_b4_definitions_lead_and_tool_results_overtake_them(ctx_replay):
    use = ctx_replay("incident-40", full_history).bucket_use
    first, last = use.calls[0].tokens, use.calls[-1].tokens
    assert 2 * first.tools > first.total, "at first, most of what is sent is definitions"
    assert last.tool_results > last.conversation > first.conversation
    assert last.tool_results > last.tools
    turn = {each.bucket: each.turn for each in use.overtakings if each.other == "tools"}
    assert turn["tool_results"] < turn["conversation"], "what tools say before what people say"


@pytest.mark.ctx_token_cost(max_increase=0.0)
def test_b4_what_is_billed_is_many_times_the_final_context(ctx_replay):
    replay = ctx_replay("incident-40", full_history)
    use = replay.bucket_use
    assert use.billed.total == replay.tokens.billed > 20 * replay.tokens.final
    assert {call.tokens.tools for call in use.calls} == {use.calls[0].tokens.tools}
    assert 0.2 < use.billed.tools / use.billed.total < 0.5
    assert use.growth > 0.9, "most of what is paid for was sent before, byte for byte"


@pytest.mark.ctx_catalogue(max_unknown_calls=0, max_never_called=5, max_share=0.4)
def test_b5_tools_that_are_never_called_are_paid_for(ctx_replay):
    ctx_replay("incident-40", full_history)
