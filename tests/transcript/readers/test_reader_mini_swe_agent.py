"""mini-swe-agent's trajectories: versions, calls' facts, what was sent to no model."""

import json

import pytest
from export_files import EXPORTS, document, read, refused, survives

from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.mini_swe_agent import READER

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
RESPONSE = {
    "id": "r1",
    "model": "m-1",
    "choices": [{"finish_reason": "tool_calls", "message": {}}],
    "usage": {
        "prompt_tokens": 40,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 16},
        "completion_tokens_details": {"reasoning_tokens": 2},
        "cache_creation_input_tokens": 4,
    },
}
ANSWER = {
    "role": "assistant",
    "content": None,
    "tool_calls": [CALL],
    "function_call": None,
    "annotations": [1],
    "extra": {"response": RESPONSE, "cost": 0.25, "timestamp": 1700000000.5, "actions": []},
}
MESSAGES = [
    {"role": "system", "content": "Shell."},
    {"role": "user", "content": "Do it."},
    ANSWER,
    {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"returncode": 0}},
    {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted"}},
]


def trajectory(**changes):
    info = {
        "exit_status": "Submitted",
        "submission": "done",
        "model_stats": {"api_calls": 1, "instance_cost": 0.25},
        "mini_version": "2.0.0",
        "config": {"agent_type": "a.b.DefaultAgent", "model": {"model_name": "openai/m"}},
    }
    value = {"info": info, "messages": MESSAGES, "trajectory_format": "mini-swe-agent-1.1"}
    return {**value, **changes}


def test_messages_facts_and_what_is_passed_over():
    reading = read(READER, trajectory(), "task.traj.json")
    (run,) = reading.runs
    assert run.name == "task"
    assert run.messages == (
        *MESSAGES[:2],
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    )
    assert run.calls[0].recorded == {
        **{"model": "m-1", "prompt_tokens": 40, "completion_tokens": 9, "cached_tokens": 16},
        **{"cache_written_tokens": 4, "reasoning_tokens": 2, "finish_reason": "tool_calls"},
        **{"response_id": "r1", "time": "2023-11-14T22:13:20.500000+00:00", "cost": 0.25},
    }
    assert run.provenance == {
        **{"exit_status": "Submitted", "mini_version": "2.0.0", "model_name": "openai/m"},
        **{"model_stats": {"api_calls": 1, "instance_cost": 0.25}},
        "agent_type": "a.b.DefaultAgent",
    }
    assert reading.passed_over == {
        **{"exit message": 1, "messages.annotations": 1, "messages.extra": 2},
        "info.submission": 1,
    }


def test_items_of_the_responses_api():
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    response = {
        "object": "response",
        "id": "r1",
        "model": "m-1",
        "status": "completed",
        "output": [call],
        "usage": {"input_tokens": 7, "output_tokens": 2},
        "extra": {"cost": 0.5, "timestamp": 1700000000},
    }
    result = {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {}}
    (run,) = read(READER, trajectory(messages=[*MESSAGES[:2], response, result])).runs
    assert run.messages[2]["tool_calls"][0]["function"] == {"name": "bash", "arguments": "{}"}
    assert run.messages[3]["tool_call_id"] == "c1"
    assert run.calls[0].recorded == {
        **{"model": "m-1", "prompt_tokens": 7, "completion_tokens": 2, "response_id": "r1"},
        **{"finish_reason": "completed", "cost": 0.5, "time": "2023-11-14T22:13:20+00:00"},
    }


@pytest.mark.parametrize("named", ["mini-swe-agent-1", "mini-swe-agent-1.2", None])
def test_versions_that_are_read(named):
    value = trajectory(trajectory_format=named)
    if named is None:
        del value["trajectory_format"]
    assert len(read(READER, value).runs[0].messages) == 4


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"trajectory_format": "mini-swe-agent-2"}, "'mini-swe-agent-2' is not known"),
        ({"trajectory_format": "mini-swe-agent-11"}, "'mini-swe-agent-11' is not known"),
        ({"messages": None}, "`messages` must be a list"),
        ({"messages": [3]}, "`messages[0]` must be an object"),
        ({"messages": [{"content": "x"}]}, "`messages[0]`: `message` needs a `role`"),
        ({"messages": [{"object": "response", "output": []}]}, "`messages[0]` has no answer"),
        ({"messages": [{"object": "response", "output": 3}]}, "`messages[0]`: `output`"),
        ({"messages": [{"type": "function_call_output", "call_id": 3}]}, "`messages[0]`: `items"),
        ({"messages": [MESSAGES[-1]]}, "has no messages"),
    ],
)
def test_broken_ones_say_where(changes, says):
    assert says in refused(READER, trajectory(**changes))


@pytest.mark.parametrize("value", [{"messages": []}, {"info": {"mini_version": "1"}}, [], "x"])
def test_others_are_not_recognised(value):
    assert not READER.recognises(document(value))


def test_only_typed_errors_leave_it():
    assert survives(READER, trajectory()) > 300
    response = {"object": "response", "output": [{"type": "reasoning", "summary": []}]}
    result = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
    assert survives(READER, trajectory(messages=[response, result])) > 100


def test_a_trajectory_of_its_own_agent():
    path = EXPORTS / "mini-swe-agent.traj.json"
    raw = [
        m for m in json.loads(path.read_text(encoding="utf-8"))["messages"] if m["role"] != "exit"
    ]
    reading = READER.read(open_document(path))
    (run,) = reading.runs
    assert [m["content"] for m in run.messages] == [m["content"] for m in raw]
    assert sum(len(m.get("tool_calls") or ()) for m in run.messages) == 4
    assert sum(len(m.get("tool_calls") or ()) for m in raw) == 4
    assert all(call.recorded["prompt_tokens"] > 0 for call in run.calls if call.recorded)
    assert not pair(run.messages).orphans
    assert len(pair(run.messages).unanswered) == 1  # the one that ends the run
    assert reading.passed_over["answer that is not in the history"] == 1
    assert [note.what[:13] for note in reading.notes] == ["`messages[4]`"]
