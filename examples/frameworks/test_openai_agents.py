"""OpenAI Agents SDK: ``ToolOutputTrimmer``, and a session's limit.

Seen with openai-agents 0.24.0.
"""

import pytest
from agents import RunConfig, SessionSettings, SQLiteSession
from agents.extensions import ToolOutputTrimmer

from pytest_ctxguard import ContextGateFailure, adapt


def trimmer():
    return adapt.openai_agents(ToolOutputTrimmer())


def session():
    return adapt.openai_session(
        lambda: SQLiteSession("museum"),
        run_config=RunConfig(session_settings=SessionSettings(limit=10)),
    )


async def newest_nine(data):
    kept = SQLiteSession("museum")
    await kept.add_items(data.model_data.input)
    data.model_data.input = await kept.get_items(limit=9)
    return data.model_data


def by_hand():
    return adapt.openai_agents(newest_nine)


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_carried("rule", "case", at="every")
def test_the_trimmer_shortens_old_outputs_of_a_chat(ctx_replay, chat, facts):
    replay = ctx_replay(chat, trimmer(), facts=facts)
    assert replay.final.request.tokens < replay.final.history_tokens / 2


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="outputs are old two user messages later, and a tool loop has one",
)
@pytest.mark.ctx_budget(4000)
def test_the_trimmer_shortens_old_outputs_of_a_tool_loop(ctx_replay, agentic):
    ctx_replay(agentic, trimmer())


@pytest.mark.ctx_wellformed
@pytest.mark.ctx_carried("rule", at="every")
def test_a_runner_prunes_what_a_limit_cuts_in_two(ctx_replay, chat, facts):
    ctx_replay(chat, session(), facts=facts)


@pytest.mark.xfail(
    strict=True,
    raises=ContextGateFailure,
    reason="the newest nine items may begin with an output whose call is cut off",
)
@pytest.mark.ctx_wellformed
def test_items_taken_by_hand_are_whole(ctx_replay, chat):
    ctx_replay(chat, by_hand())


def test_how_often(replayed, chat, agentic):
    assert replayed(agentic, trimmer()).judge.honest().counts == {"idle": 41}
    assert max(replayed(agentic, trimmer()).tokens.by_call) == 12050
    assert replayed(chat, by_hand()).judge.wellformed().counts == {"orphan-result": 38}
    assert replayed(agentic, by_hand()).judge.wellformed().counts == {"orphan-result": 36}
