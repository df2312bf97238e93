"""What was asked and answered becomes transcripts that the rest of the package can judge."""

from __future__ import annotations

import json

import pytest

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.server.recording import Recorder
from pytest_ctxguard.server.script import Fault
from pytest_ctxguard.transcript.jsonl import load
from tests.server.server_asks import ASK, CALL, CLAUDE_TOOLS, TOOLS, result_message, tool_result
from tests.server.server_backends import Recording

FOLLOW_UP = {"role": "user", "content": "And search?"}


def agent(client, *, turns=2):
    """Run a small agent loop: a tool round, an answer, a follow-up; returns its history."""
    history = list(ASK)
    while True:
        done = client.chat.completions.create(model="m", messages=history, tools=TOOLS)
        message = done.choices[0].message
        history.append(message.model_dump(exclude_none=True))
        if message.tool_calls:
            history += [result_message(call.id) for call in message.tool_calls]
        elif turns == 1:
            return history
        else:
            turns -= 1
            history.append(FOLLOW_UP)


def test_a_growing_history_is_one_transcript(serve, openai_client, tmp_path):
    path = tmp_path / "out.jsonl"
    server = serve([CALL, "Slow.", "Fine."], record=path)
    history = agent(openai_client(server))
    transcript = load(path)
    assert [m["role"] for m in transcript.messages] == [
        *["user", "assistant", "tool", "assistant", "user", "assistant"]
    ]
    assert list(transcript.messages[:5]) == history[:5]
    assert transcript.messages[5]["content"] == "Fine."
    assert transcript.tools == tuple(TOOLS)
    assert transcript.name == "out"
    assert transcript == server.transcript()
    assert sorted(transcript.recorded) == [1, 3, 5]
    assert [call.history for call in transcript.calls] == [1, 3, 5]
    first = transcript.recorded[1]
    assert (first["finish_reason"], first["attempts"], first["model"]) == ("tool_calls", 1, "m")
    assert len({call["request"] for call in transcript.recorded.values()}) == 3
    assert transcript.provenance == {
        "recorded_by": "pytest-ctxguard serve",
        "model": "scripted",
        "numerics": "exact",
    }


def test_each_request_is_on_disk_before_its_answer_is_sent(serve, openai_client, tmp_path):
    path = tmp_path / "out.jsonl"
    client = openai_client(serve(["one", "two"], record=path))
    stream = client.chat.completions.create(model="m", messages=ASK, stream=True)
    assert next(chunk for chunk in stream if chunk.choices[0].finish_reason)
    assert len(load(path).messages) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]  # no temporary file is left


def test_another_session_goes_to_another_file(serve, openai_client, tmp_path):
    (tmp_path / "out-2.jsonl").write_text("something else")
    server = serve(["a", "b", "c", "d"], record=tmp_path / "out.jsonl")
    client = openai_client(server)
    other = [{"role": "user", "content": "Something else?"}]
    histories = [list(ASK), list(other)]
    for _ in range(2):
        for history in histories:
            done = client.chat.completions.create(model="m", messages=history)
            history += [
                {"role": "assistant", "content": done.choices[0].message.content},
                FOLLOW_UP,
            ]
    assert (tmp_path / "out-2.jsonl").read_text() == "something else"
    first, second = load(tmp_path / "out.jsonl"), load(tmp_path / "out-3.jsonl")
    assert [m["content"] for m in first.messages][1::2] == ["a", "c"]
    assert [m["content"] for m in second.messages][1::2] == ["b", "d"]
    assert (first.name, second.name) == ("out", "out-3")
    with pytest.raises(UsageError, match="2 sessions"):
        server.transcript()


def test_a_cut_history_starts_another_transcript(serve, openai_client):
    server = serve(["a", "b"])
    client = openai_client(server)
    system = {"role": "system", "content": "Be short."}
    client.chat.completions.create(model="m", messages=[system, *ASK])
    client.chat.completions.create(model="m", messages=[system, FOLLOW_UP])
    assert [len(t.messages) for t in server.transcripts] == [3, 3]


def test_other_tools_start_another_transcript(serve, openai_client):
    server = serve(["a", "b"])
    client = openai_client(server)
    client.chat.completions.create(model="m", messages=ASK)
    client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    assert [t.tools for t in server.transcripts] == [(), tuple(TOOLS)]


def test_a_retry_takes_the_place_of_the_first(serve, openai_client):
    server = serve(["a", "b"], faults={1: Fault(drop_after=0)})
    client = openai_client(server, max_retries=1)
    client.chat.completions.create(model="m", messages=ASK)
    transcript = server.transcript()
    assert transcript.messages[1]["content"] == "b"
    assert transcript.recorded[1]["attempts"] == 2


def test_a_refused_request_is_not_recorded(serve, openai_client):
    import openai

    server = serve(["a"], limit=5)
    with pytest.raises(openai.BadRequestError):
        openai_client(server).chat.completions.create(model="m", messages=ASK)
    assert server.transcripts == ()
    assert [r.body["messages"] for r in server.requests] == [ASK]
    with pytest.raises(UsageError, match="nothing was answered"):
        server.transcript()


def test_anthropic_requests_are_recorded_in_openai_format(serve, anthropic_client):
    server = serve([CALL, "Slow."])
    client = anthropic_client(server)
    options = {"model": "m", "max_tokens": 9, "tools": CLAUDE_TOOLS, "system": "Be short."}
    first = client.messages.create(messages=ASK, **options)
    [use] = first.content
    answer = {"role": "assistant", "content": [use.model_dump(exclude_none=True)]}
    client.messages.create(messages=[*ASK, answer, tool_result(use.id)], **options)
    transcript = server.transcript()
    assert [m["role"] for m in transcript.messages] == [
        *["system", "user", "assistant", "tool", "assistant"]
    ]
    assert transcript.messages[3]["tool_call_id"] == use.id
    assert sorted(transcript.recorded) == [2, 4]


def test_no_key_is_written(serve, openai_client, tmp_path):
    server = serve(["a"], record=tmp_path / "out.jsonl", key="s3cret")
    openai_client(server, api_key="s3cret").chat.completions.create(model="m", messages=ASK)
    assert "s3cret" not in (tmp_path / "out.jsonl").read_text()
    assert "s3cret" not in repr(server.requests)


def test_what_was_asked_for_is_noted(serve, openai_client):
    server = serve(backend=Recording(Completion("x")))
    openai_client(server).chat.completions.create(
        model="m",
        messages=ASK,
        temperature=0.5,
        seed=4,
        stop="END",
        tools=TOOLS,
        tool_choice="none",
    )
    [call] = server.transcript().recorded.values()
    assert (call["temperature"], call["seed"], call["top_p"]) == (0.5, 4, 1.0)
    assert (call["stop"], call["tool_choice"]) == (["END"], "none")
    assert json.dumps(call)


def test_a_file_that_exists_is_not_written_over(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("precious")
    with pytest.raises(UsageError, match="nothing recorded is written over"):
        Recorder(path, provenance={})
    with pytest.raises(UsageError, match=r"a \.jsonl file"):
        Recorder(tmp_path / "out.json", provenance={})
