import json

from fixtures.record.agent import BAD_ARGUMENTS, run
from fixtures.record.incident.environment import Environment
from fixtures.record.session import NoTools, Session, Turn
from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.testing import ScriptedBackend

TOOL = {"type": "function", "function": {"name": "search_logs", "parameters": {}}}


def called(name, **arguments):
    call = ToolCall(name, json.dumps(arguments))
    return Completion(text="", tool_calls=(call,), finish_reason="tool_calls", prompt_tokens=90)


def session(*turns, environment=Environment):
    return Session(
        name="s", system="sys", turns=turns, plants=(), environment=environment, tools=(TOOL,)
    )


def test_a_turn_takes_its_rounds_and_then_answers():
    backend = ScriptedBackend(
        [
            called("get_metrics", service="ledger", metric="error_rate"),
            called("search_logs", service="ledger", level="warn"),
            Completion(text=" All quiet. ", prompt_tokens=200),
        ]
    )
    recording = run(session(Turn("look", 2)), backend, seed=1)
    roles = [message["role"] for message in recording.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [request["tool_choice"] for request in backend.requests] == [
        "required",
        "required",
        "none",
    ]
    assert recording.messages[2]["tool_calls"][0]["id"] == "call_001"
    assert recording.messages[5]["tool_call_id"] == "call_002"
    assert recording.messages[6]["content"] == "All quiet."
    assert [recording.calls[i]["prompt_tokens"] for i in (2, 4, 6)] == [90, 90, 200]
    assert recording.calls[6]["tool_choice"] == "none"


def test_each_request_is_the_whole_history():
    backend = ScriptedBackend(["one", "two"])
    recording = run(session(Turn("a"), Turn("b")), backend, seed=1)
    assert backend.requests[1]["messages"][:3] == list(recording.messages[:3])
    assert backend.requests[1]["tools"] == [TOOL]


def test_an_unknown_tool_is_kept_and_answered_with_an_error():
    backend = ScriptedBackend([called("read_log", service="ledger"), "Sorry."])
    recording = run(session(Turn("look", 1)), backend, seed=1)
    assert recording.messages[2]["tool_calls"][0]["function"]["name"] == "read_log"
    assert recording.messages[3]["content"].startswith("error 404: no such tool; there are: ")


def test_arguments_that_are_no_json_object_are_answered_with_an_error():
    broken = Completion(text="", tool_calls=(ToolCall("search_logs", '{"service": '),))
    listed = Completion(text="", tool_calls=(ToolCall("search_logs", "[1]"),))
    recording = run(session(Turn("look", 2)), ScriptedBackend([broken, listed, "Sorry."]), seed=1)
    assert recording.messages[3]["content"] == BAD_ARGUMENTS
    assert recording.messages[5]["content"] == BAD_ARGUMENTS
    assert recording.messages[2]["tool_calls"][0]["function"]["arguments"] == '{"service": '


def test_a_model_that_calls_nothing_has_answered():
    backend = ScriptedBackend(["I will not.", "Fine."])
    recording = run(session(Turn("look", 2), Turn("so?")), backend, seed=1)
    assert [message["role"] for message in recording.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert recording.calls[2]["tool_choice"] == "required"


def test_only_the_first_of_parallel_calls_is_made():
    call = ToolCall("search_logs", '{"service": "ledger", "level": "warn"}')
    backend = ScriptedBackend([Completion(text="", tool_calls=(call, call)), "Done."])
    recording = run(session(Turn("look", 1)), backend, seed=1)
    assert len(recording.messages[2]["tool_calls"]) == 1
    assert [message["role"] for message in recording.messages].count("tool") == 1


def test_progress_is_told_after_every_turn():
    seen = []
    run(
        session(Turn("a"), Turn("b"), environment=lambda seed: NoTools()),
        ScriptedBackend(["1", "2"]),
        seed=1,
        progress=lambda number, recording: seen.append((number, len(recording.messages))),
    )
    assert seen == [(1, 3), (2, 5)]
