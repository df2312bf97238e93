"""SWE-agent's trajectories: text actions, tool calls, attempts, agents, steps asked again."""

import json

import pytest
from export_files import read, refused, survives

from pytest_ctxguard.transcript.readers.swe_agent import READER


def called(call_id, command):
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"id": call_id, "type": "function", "function": function}


SYSTEM = {"role": "system", "content": "Use the shell.", "agent": "main"}
TASK = {"role": "user", "content": "Fix it.", "agent": "main", "message_type": "observation"}
ACTION = {
    "role": "assistant",
    "content": "I list.",
    "thought": "I list.",
    "action": "ls",
    "agent": "main",
    "tool_calls": [called("c1", "ls")],
    "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    "message_type": "action",
}
RESULT = {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]}
LAST = {"role": "assistant", "content": "", "agent": "main", "tool_calls": [called("c2", "submit")]}
STEP = {"action": "ls", "response": "I list.", "observation": "a.py", "state": {}, "thought": ""}
SUBMIT = {**STEP, "action": "submit", "response": ""}


def traj(**changes):
    value = {
        "environment": "main",
        "trajectory": [STEP, SUBMIT],
        "history": [SYSTEM, TASK, ACTION, RESULT, LAST],
        "info": {
            "exit_status": "submitted",
            "submission": "diff",
            "model_stats": {"api_calls": 2, "tokens_sent": 30},
        },
        "replay_config": json.dumps({"agent": {"model": {"name": "gpt-x", "api_key": "secret"}}}),
    }
    return {**value, **changes}


def test_messages_are_what_was_sent():
    reading = read(READER, traj(), "t.traj")
    (run,) = reading.runs
    assert [m["role"] for m in run.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert run.messages[2] == {
        "role": "assistant",
        "content": "I list.",
        "tool_calls": [called("c1", "ls")],
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    }
    assert run.messages[3] == {"role": "tool", "content": "a.py", "tool_call_id": "c1"}
    assert run.name == "t"
    assert len(run.tool_rounds) == 2


def test_facts_are_kept_and_the_rest_is_counted():
    reading = read(READER, traj())
    (run,) = reading.runs
    assert run.provenance == {
        "agent": "main",
        "environment": "main",
        "exit_status": "submitted",
        "model_stats": {"api_calls": 2, "tokens_sent": 30},
    }
    assert [call.recorded for call in run.calls] == [{"model": "gpt-x"}] * 2
    assert reading.passed_over == {
        "history.message_type": 2,
        "history.thought": 1,
        "history.action": 1,
        "info.submission": 1,
        "replay_config": 1,
    }
    assert "secret" not in repr(reading)


def test_text_actions_are_answered_by_user_messages_and_a_demonstration_is_named():
    demo = {"role": "user", "content": "A demonstration.", "is_demo": True, "agent": "primary"}
    told = {"role": "assistant", "content": "I list.\n```\nls\n```", "agent": "primary"}
    seen = {"role": "user", "content": "a.py", "agent": "primary"}
    system, task = ({**m, "agent": "primary"} for m in (SYSTEM, TASK))
    step = {**STEP, "response": told["content"]}
    value = traj(history=[system, demo, task, told, seen], trajectory=[step], replay_config=None)
    reading = read(READER, value)
    (run,) = reading.runs
    assert [m["role"] for m in run.messages] == ["system", "user", "user", "assistant", "user"]
    assert run.provenance["demonstrations"] == [1]
    assert not run.tool_rounds
    assert reading.notes == ()
    assert not run.recorded


def test_a_step_that_was_asked_again_is_counted_and_noted():
    again = {**STEP, "response": "not usable"}
    reading = read(READER, traj(trajectory=[again, STEP, SUBMIT]))
    assert reading.passed_over["trajectory step that is not in the history"] == 1
    assert reading.notes[0].what.startswith("1 step is in `trajectory` and not in `history`")


def test_requests_that_a_history_processor_shortened_are_noted():
    whole = {**STEP, "query": [SYSTEM, TASK]}
    short = {**SUBMIT, "query": [SYSTEM, TASK, ACTION, {**RESULT, "content": "Old output."}]}
    assert read(READER, traj(trajectory=[whole, SUBMIT])).notes == ()
    (note,) = read(READER, traj(trajectory=[whole, short])).notes
    assert note.what.startswith("1 of 2 requests were other than the history before them")


def test_each_attempt_is_a_run_and_the_chosen_one_is_no_third():
    first, second = traj(), traj(history=[SYSTEM, TASK], trajectory=[])
    reading = read(READER, {"attempts": [first, second], **first}, "t.traj")
    assert [len(run.messages) for run in reading.runs] == [5, 2]
    assert [run.name for run in reading.runs] == ["t-0", "t-1"]
    assert reading.passed_over["copy of the chosen attempt"] == 1


def test_each_agent_is_a_run():
    other = [{**SYSTEM, "agent": "review"}, {**TASK, "agent": "review", "content": "Review it."}]
    reading = read(READER, traj(history=[SYSTEM, TASK, *other, ACTION, RESULT, LAST]))
    assert [(run.provenance["agent"], len(run.messages)) for run in reading.runs] == [
        ("main", 5),
        ("review", 2),
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"history": "x"}, "`history` must be a list"),
        ({"history": [SYSTEM, 3]}, "`history[1]` must be an object"),
        ({"trajectory": {}}, "`trajectory` must be a list"),
        ({"history": [SYSTEM, {"role": "robot", "content": ""}]}, "`history[1]`: `message` needs"),
        ({"history": [{**RESULT, "tool_call_ids": ["a", "b"]}]}, "`history[0].tool_call_ids` must"),
        ({"history": []}, "has no messages"),
    ],
)
def test_broken_ones_say_where(changes, says):
    assert says in refused(READER, traj(**changes), "t.traj")


def test_a_result_before_its_call_is_noted():
    (note,) = read(READER, traj(history=[TASK, RESULT, ACTION])).notes[:1]
    assert "tool result for call 'c1'" in note.what


def test_only_typed_errors_leave_it():
    step = {**STEP, "query": [SYSTEM, TASK]}
    assert survives(READER, traj(trajectory=[step])) > 100
    assert survives(READER, {"attempts": [traj()]}) > 100
