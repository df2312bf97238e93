"""Exchanges are joined to the sessions they were part of."""

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.runs import Exchange, join
from pytest_ctxguard.transcript.wire.wire import Answer, Asked
from tests.factories import assistant, call, calling, result, system, tool, user


def exchange(*messages, answer=None, tools=(), previous=None, answer_id=None, **fields):
    asked = Asked(messages=messages, tools=tools, previous=previous, model="m")
    answers = () if answer is None else (answer,)
    return Exchange(
        asked=asked, answer=Answer(messages=answers, id=answer_id, **fields), line=fields.get("n")
    )


def joined(*exchanges):
    return join(Document("cassettes/agent.yaml", b""), exchanges)


def test_a_growing_history_is_one_run():
    round_ = (calling(call()), result("ok"))
    runs, notes = joined(
        exchange(system(), user("a"), answer=calling(call())),
        exchange(system(), user("a"), *round_, answer=assistant("b")),
        exchange(system(), user("a"), *round_, assistant("b"), user("c"), answer=assistant("d")),
    )
    (run,) = runs
    assert run.name == "agent"
    assert run.messages == (
        system(),
        user("a"),
        *round_,
        assistant("b"),
        user("c"),
        assistant("d"),
    )
    assert run.recorded == {
        2: {"model": "m", "exchange": 1},
        4: {"model": "m", "exchange": 2},
        6: {"model": "m", "exchange": 3},
    }
    assert notes == ()


def test_a_request_that_does_not_extend_starts_a_run():
    runs, _ = joined(
        exchange(user("a"), answer=assistant("b")),
        exchange(user("x"), answer=assistant("y")),
        exchange(user("a"), assistant("b"), user("c"), answer=assistant("d")),
    )
    assert [run.name for run in runs] == ["agent-0", "agent-1"]
    assert [len(run.messages) for run in runs] == [4, 2]


def test_the_same_request_again_is_another_run_so_that_no_answer_is_lost():
    runs, _ = joined(
        exchange(user("a"), answer=assistant("first")),
        exchange(user("a"), answer=assistant("second")),
        exchange(user("a"), assistant("first"), user("c"), answer=assistant("d")),
    )
    assert [run.messages for run in runs] == [
        (user("a"), assistant("first"), user("c"), assistant("d")),
        (user("a"), assistant("second")),
    ]


def test_an_answer_that_the_client_left_out_stays_in_a_run_of_its_own():
    runs, _ = joined(
        exchange(user("a"), answer=assistant("lost")),
        exchange(user("a"), user("b"), answer=assistant("c")),
    )
    assert [run.messages for run in runs] == [
        (user("a"), assistant("lost")),
        (user("a"), user("b"), assistant("c")),
    ]


def test_an_answer_that_the_client_edited_is_noted():
    runs, notes = joined(
        exchange(user("a"), answer=assistant("b")),
        exchange(user("a"), assistant("b, edited"), user("c"), answer=assistant("d")),
    )
    (run,) = runs
    assert run.messages[1] == assistant("b, edited")
    assert run.recorded[1]["answer"] == assistant("b")
    assert [note.what for note in notes] == [
        "exchange 2: the client sent back an answer other than the one it got"
    ]


def test_a_message_that_the_client_put_before_the_answer_is_noted():
    runs, notes = joined(
        exchange(user("a"), answer=assistant("b")),
        exchange(user("a"), assistant(""), assistant("b"), user("c"), answer=assistant("d")),
    )
    assert [call["exchange"] for call in runs[0].recorded.values()] == [1, 2]
    assert list(runs[0].recorded) == [2, 4]
    assert [note.what for note in notes] == [
        "exchange 2: the client put a message before the answer it got"
    ]


def test_an_answer_may_come_back_with_other_ids_and_other_spelling_of_its_arguments():
    sent_back = calling(call("other", n=1))
    got = calling({**call("c1"), "function": {"name": "read_log", "arguments": '{"n":1}'}})
    _, notes = joined(
        exchange(user("a"), answer=got),
        exchange(user("a"), sent_back, result("x", "other"), answer=assistant("d")),
    )
    assert notes == ()


def test_cache_marks_may_move():
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    runs, _ = joined(
        exchange({"role": "user", "content": [marked]}, answer=assistant("b")),
        exchange(user("a"), assistant("b"), user("c"), answer=assistant("d")),
    )
    assert [len(run.messages) for run in runs] == [4]


def test_tools_that_come_later_are_one_session_and_each_call_knows_its_own():
    runs, _ = joined(
        exchange(user("a"), answer=assistant("b"), tools=(tool("search"),)),
        exchange(
            user("a"),
            assistant("b"),
            user("c"),
            answer=assistant("d"),
            tools=(tool("search"), tool("open")),
        ),
    )
    (run,) = runs
    assert [t["function"]["name"] for t in run.tools] == ["search", "open"]
    assert run.recorded[1]["tools"] == ["search"]
    assert "tools" not in run.recorded[3]


def test_a_tool_that_changed_starts_a_run():
    runs, _ = joined(
        exchange(user("a"), answer=assistant("b"), tools=(tool(description="old"),)),
        exchange(
            user("a"),
            assistant("b"),
            user("c"),
            answer=assistant("d"),
            tools=(tool(description="new"),),
        ),
    )
    assert len(runs) == 2


def test_a_history_that_the_provider_kept():
    runs, notes = joined(
        exchange(system(), user("a"), answer=assistant("b"), answer_id="r1"),
        exchange(system(), user("c"), answer=assistant("d"), previous="r1"),
    )
    (run,) = runs
    assert run.messages == (system(), user("a"), assistant("b"), user("c"), assistant("d"))
    assert notes == ()


def test_a_history_that_is_not_in_the_file_is_noted():
    runs, notes = joined(exchange(user("c"), answer=assistant("d"), previous="r0"))
    assert len(runs) == 1
    assert "'r0', which is not in this file" in notes[0].what


def test_a_refused_request_is_noted_and_may_be_tried_again():
    runs, notes = joined(
        exchange(user("a"), refusal="context_length_exceeded"),
        exchange(user("a"), answer=assistant("b")),
    )
    assert [run.messages for run in runs] == [(user("a"), assistant("b"))]
    assert [note.what for note in notes] == ["exchange 1 was refused: context_length_exceeded"]


def test_an_answer_that_compacts():
    summary = user("Summary: a.")
    runs, _ = joined(
        exchange(system(), user("a"), answer=assistant("b"), compacted=(summary,)),
        exchange(system(), user("a"), assistant("b"), user("c"), answer=assistant("d")),
    )
    (run,) = runs
    assert run.sent(run.calls[0]) == (system(), user("a"))
    assert run.sent(run.calls[1]) == (system(), summary, assistant("b"), user("c"))


def test_results_without_calls_are_noted():
    _, notes = joined(exchange(user("a"), result("x", "gone"), answer=assistant("b")))
    assert "tool result for call 'gone'" in notes[0].what


def test_nothing_at_all():
    with pytest.raises(TranscriptError, match=r"agent\.yaml: holds no request to a model"):
        joined()
