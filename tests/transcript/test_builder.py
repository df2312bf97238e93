"""One session, put together message by message."""

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.model import Compaction
from pytest_ctxguard.transcript.reading import Note
from tests.factories import assistant, call, calling, result, system, tool, user


@pytest.fixture
def builder():
    return Builder(Document("logs/agent.jsonl", b""))


def test_a_session(builder):
    builder.tool(tool())
    builder.tool(tool())
    builder.add(user("a"))
    index = builder.add(assistant("b"), call={"model": "m", "prompt_tokens": None})
    builder.note_call(index, {"cached_tokens": 3})
    built = builder.build(version="1", date=None)
    assert built.name == "agent"
    assert built.tools == (tool(),)
    assert built.recorded == {1: {"model": "m", "cached_tokens": 3}}
    assert built.provenance == {"version": "1"}
    assert builder.notes == []


def test_what_was_sent_after_a_compaction(builder):
    for message in (system(), user("a"), assistant("b"), user("c"), assistant("d")):
        builder.add(message)
    builder.compact(inserted=[user("summary")], kept_from=3, trigger="auto", time=None)
    builder.add(user("e"))
    builder.add(assistant("f"))
    built = builder.build()
    summary = Compaction(
        at=5, kept_from=3, inserted=(user("summary"),), recorded={"trigger": "auto"}
    )
    assert built.compactions == (summary,)
    assert [built.sent(c) for c in built.calls] == [
        (system(), user("a")),
        (system(), user("a"), assistant("b"), user("c")),
        (system(), user("summary"), user("c"), assistant("d"), user("e")),
    ]


def test_a_compaction_that_keeps_nothing_and_one_after_it(builder):
    builder.add(user("a"))
    builder.add(assistant("b"))
    builder.compact(inserted=[user("first")])
    builder.add(assistant("c"))
    builder.compact(inserted=[user("second")], kept_from=2)
    builder.add(user("d"))
    built = builder.build()
    assert built.sent(built.calls[1]) == (user("first"),)
    assert built.sent(built.calls[2]) == (user("second"), assistant("c"), user("d"))


def test_results_without_calls_are_noted_with_their_line(builder):
    builder.add(calling(call("a")), line=1)
    builder.add(result("x", "gone"), line=2)
    assert builder.build().messages[1] == result("x", "gone")
    (note,) = builder.notes
    assert isinstance(note, Note)
    assert (note.line, note.what[:28]) == (2, "tool result for call 'gone',")


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ({"role": "robot"}, "needs a `role`"),
        ("text", "needs a `role`"),
        ({"role": ["user"]}, "needs a `role`"),
        ({"role": "user", "content": 5}, "`content` must be text"),
        ({"role": "tool", "content": "x", "tool_call_id": ["a"]}, "`tool_call_id` must be text"),
        ({"role": "assistant", "tool_calls": [5]}, "`tool_calls` must be a list"),
    ],
)
def test_what_is_no_message(builder, message, wrong):
    with pytest.raises(TranscriptError, match=rf"agent\.jsonl:7: .*{wrong}"):
        builder.add(message, line=7)


def test_what_is_no_tool(builder):
    with pytest.raises(TranscriptError, match=r"agent\.jsonl:7: a tool definition needs"):
        builder.tool({"name": "x"}, line=7)


def test_no_messages(builder):
    with pytest.raises(TranscriptError, match="has no messages"):
        builder.build()
