"""Sessions of the pi coding agent."""

import base64
import json
import struct

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.pi import READER
from tests.transcript.readers.jsonl_rows import (
    document,
    notes,
    opaque,
    read,
    read_one,
    roles,
    texts,
)

HEADER = {"type": "session", "id": "s-1", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/x"}
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 3, 2) + b"\x08\x02\0\0\0"


def text(value):
    return {"type": "text", "text": value}


def entry(message, **fields):
    return {
        "type": "message",
        "timestamp": "2026-01-02T03:04:06.000Z",
        "message": message,
        **fields,
    }


def user(content, **fields):
    return entry({"role": "user", "content": content, "timestamp": 1}, **fields)


def assistant(*content, usage=(10, 5, 100, 20), message=None, **fields):
    numbers = dict(zip(("input", "output", "cacheRead", "cacheWrite"), usage, strict=True))
    said = {
        "role": "assistant",
        "content": list(content),
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": {**numbers, "cost": {"total": 0.25}},
        "stopReason": "stop",
        "timestamp": 2,
        **(message or {}),
    }
    return entry(said, **fields)


def call(id_, name="read", **arguments):
    return {"type": "toolCall", "id": id_, "name": name, "arguments": arguments}


def result(id_, *content, **fields):
    said = {"role": "toolResult", "toolCallId": id_, "toolName": "read", "content": list(content)}
    return entry({**said, "isError": False, "timestamp": 3, **fields})


def tree(*rows):
    """Give each row an id, and the one before as its parent unless it names another."""
    made, before = [], None
    for row in rows:
        made.append({"id": f"e{len(made)}", "parentId": before, **row})
        before = made[-1]["id"]
    return [{**HEADER, "version": 3}, *made]


def compaction(summary="so far", **fields):
    return {"type": "compaction", "summary": summary, "tokensBefore": 900, **fields}


def test_messages_calls_and_results():
    run = read_one(
        READER,
        [
            HEADER,
            user("read ä and b"),
            assistant(text("Reading."), call("c1", path="ä"), call("c2", path="b")),
            result("c1", text("A")),
            result("c2", text("gone"), isError=True),
            user([text("thanks")]),
            assistant(text("Done.")),
        ],
    )
    assert roles(run) == "user assistant tool tool user assistant"
    asked = run.messages[1]["tool_calls"]
    assert [c["id"] for c in asked] == ["c1", "c2"]
    assert asked[0]["function"] == {"name": "read", "arguments": '{"path": "ä"}'}
    assert run.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "A", "name": "read"}
    assert run.messages[3]["is_error"] is True
    assert run.messages[4]["content"] == "thanks"
    assert run.provenance == {"session": "s-1", "time": HEADER["timestamp"]}


def test_usage_is_all_of_the_input():
    run = read_one(READER, [HEADER, user("hi"), assistant(text("hello"))])
    assert run.recorded[1] == {
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "api": "anthropic-messages",
        "prompt_tokens": 130,
        "cached_tokens": 100,
        "cache_written_tokens": 20,
        "completion_tokens": 5,
        "cost": 0.25,
        "finish_reason": "stop",
        "time": "2026-01-02T03:04:06.000Z",
    }


def test_an_aborted_call_has_no_usage_and_its_tool_calls_no_results():
    aborted = {"stopReason": "aborted", "errorMessage": "Request was aborted."}
    run = read_one(
        READER,
        [
            HEADER,
            user("hi"),
            assistant(call("c1"), usage=(0, 0, 0, 0), message=aborted),
            user("again"),
        ],
    )
    assert pair(run.messages).unanswered == ((1, 0),)
    assert run.recorded[1]["finish_reason"] == "aborted"
    assert run.recorded[1]["error"] == "Request was aborted."
    assert "prompt_tokens" not in run.recorded[1]


def test_thinking_levels_are_facts_of_calls_and_counted():
    level = {"type": "thinking_level_change", "thinkingLevel": "high"}
    reading = read(
        READER,
        [
            {**HEADER, "thinkingLevel": "off"},
            user("a"),
            assistant(text("b")),
            level,
            user("c"),
            assistant(text("d")),
        ],
    )
    recorded = reading.runs[0].recorded
    assert [facts["thinking_level"] for facts in recorded.values()] == ["off", "high"]
    assert reading.passed_over == {"thinking_level_change": 1}


def test_images_have_a_size_and_unknown_blocks_are_opaque():
    image = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    run = read_one(READER, [HEADER, user([text("see"), image, {"type": "video", "data": "x"}])])
    _, picture, _ = run.messages[0]["content"]
    assert picture["size"] == {"bytes": len(PNG), "width": 3, "height": 2}
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert opaque(run) == ["pi/video"]


def test_a_signed_thought_is_kept_as_its_provider_had_it():
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    run = read_one(READER, [HEADER, user("a"), assistant(thought, text("b"))])
    assert run.messages[1]["reasoning_content"] == "hm"
    assert run.messages[1]["thinking_blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"}
    ]
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}
    thought["thinkingSignature"] = json.dumps(item)
    responses = {"api": "openai-responses"}
    run = read_one(READER, [HEADER, user("a"), assistant(thought, message=responses)])
    assert run.messages[1]["reasoning_items"] == [item]
    assert "thinking_blocks" not in run.messages[1]


@pytest.mark.parametrize(("api", "redacted"), [("openai-responses", False), ("other", True)])
def test_a_signature_that_is_no_item_is_kept_whole(api, redacted):
    thought = {"type": "thinking", "thinking": "", "thinkingSignature": "sig"}
    thought |= {"redacted": True} if redacted else {}
    run = read_one(READER, [HEADER, user("a"), assistant(thought, message={"api": api})])
    assert run.messages[1]["thinking_blocks"] == [thought]


def test_what_pi_tells_the_model_in_the_users_place():
    bash = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2, "timestamp": 1}
    cut = {"truncated": True, "fullOutputPath": "/o", "output": "", "cancelled": True}
    run = read_one(
        READER,
        [
            HEADER,
            entry(bash),
            entry({**bash, **cut}),
            entry({"role": "hookMessage", "customType": "h", "content": "from a hook"}),
            {"type": "custom_message", "customType": "e", "content": [text("from an extension")]},
            {"type": "branch_summary", "fromId": "x", "summary": "the other branch"},
            entry({"role": "branchSummary", "summary": "in a message"}),
        ],
    )
    assert roles(run) == "user user user user user user"
    assert texts(run) == [
        "Ran `ls`\n```\na\n```\n\nCommand exited with code 2",
        "Ran `ls`\n(no output)\n\n(command cancelled)\n\n[Output truncated. Full output: /o]",
        "from a hook",
        "from an extension",
        "the other branch",
        "in a message",
    ]


def test_what_is_kept_from_the_model_is_counted():
    hidden = {"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": True}
    reading = read(
        READER,
        [
            HEADER,
            user("a"),
            entry(hidden),
            {"type": "branch_summary", "fromId": "x", "summary": ""},
            {"type": "label", "targetId": "x", "label": "here"},
            {"type": "custom", "customType": "state", "data": {}},
            result("c9", text("A"), details={"diff": "…"}),
            entry({"role": "user", "content": "b", "attachments": []}),
        ],
    )
    assert roles(reading.runs[0]) == "user tool user"
    assert reading.passed_over == {
        "message kept from the model": 2,
        "label": 1,
        "custom": 1,
        "toolResult.details": 1,
        "user.attachments": 1,
    }
    assert "'c9'" in notes(reading)


def test_a_compaction_by_row_of_the_file():
    run = read_one(
        READER,
        [
            HEADER,
            user("one"),
            assistant(text("1")),
            user("two"),
            assistant(text("2")),
            compaction(firstKeptEntryIndex=3, timestamp="2026-01-02T04:00:00.000Z"),
            user("three"),
            assistant(text("3")),
        ],
    )
    (made,) = run.compactions
    assert (made.at, made.kept_from) == (4, 2)
    assert made.recorded == {"tokens_before": 900, "time": "2026-01-02T04:00:00.000Z"}
    sent = [m["content"] for m in run.sent(run.calls[-1])]
    assert sent == ["so far", "two", "2", "three"]
    assert [m["content"] for m in run.sent(run.calls[1])] == ["one", "1", "two"]


def test_a_compaction_by_id_that_keeps_from_an_entry_which_says_nothing():
    rows = tree(
        user("one"),
        {"type": "thinking_level_change", "thinkingLevel": "off"},
        user("two"),
        compaction(firstKeptEntryId="e1"),
        user("three"),
    )
    run = read_one(READER, rows)
    assert [m["content"] for m in run.sent(run.calls[-1])] == ["so far", "two", "three"]


@pytest.mark.parametrize(
    "kept",
    [
        {},
        {"firstKeptEntryId": "nowhere"},
        {"firstKeptEntryIndex": 99},
        {"firstKeptEntryIndex": True},
    ],
)
def test_a_compaction_that_kept_nothing_known_is_noted(kept):
    reading = read(READER, [HEADER, user("one"), compaction(**kept), user("two")])
    (run,) = reading.runs
    assert [m["content"] for m in run.sent(run.calls[-1])] == ["so far", "two"]
    assert "none was kept" in notes(reading)


def test_a_fork_is_two_runs_that_share_their_messages():
    rows = tree(
        user("one"),
        assistant(text("1")),
        user("two"),
        assistant(text("2")),
        user("zwei", parentId="e1"),
        assistant(text("II")),
        {"type": "label", "targetId": "e0", "label": "x"},
    )
    reading = read(READER, rows)
    first, second = reading.runs
    assert texts(first) == ["one", "1", "two", "2"]
    assert texts(second) == ["one", "1", "zwei", "II"]
    assert first.messages[1] is second.messages[1]
    assert [run.name for run in reading.runs] == ["session-0", "session-1"]
    assert "forks, at line 6" in notes(reading)


def test_an_unknown_parent_and_a_second_id_are_noted():
    rows = tree(user("one"), assistant(text("1")), user("two", parentId="gone", id="e0"))
    reading = read(READER, [*rows, {**HEADER, "id": "s-2"}])
    assert texts(reading.runs[0]) == ["one", "1", "two"]
    said = notes(reading)
    assert "no earlier entry has the id 'gone'" in said
    assert "a second entry with the id 'e0'" in said
    assert "a second session header" in said
    assert reading.passed_over == {"session (a further header)": 1}


def test_a_result_before_its_call_is_noted_with_its_line():
    reading = read(READER, [HEADER, user("a"), result("c1", text("A")), assistant(call("c1"))])
    (orphan,) = [note for note in reading.notes if "'c1'" in note.what]
    assert orphan.line == 3
    assert pair(reading.runs[0].messages).unanswered == ((2, 0),)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"type": "message", "timestamp": "t"}, "`message`"),
        (entry({"role": "robot", "content": "x"}), "role 'robot'"),
        (user(7), "`content`"),
        (user(["x"]), "`content`"),
        (user([{"type": "text"}]), "`text`"),
        (user([{"type": "image", "data": "x"}]), "`mimeType`"),
        (assistant(text("x"), message={"content": "plain"}), "`content`"),
        (assistant({"type": "toolCall", "name": "read"}), "`id`"),
        (assistant({"type": "toolCall", "id": "c1"}), "`name`"),
        (assistant({"type": "thinking"}), "`thinking`"),
        (entry({"role": "toolResult", "content": []}), "`toolCallId`"),
        (entry({"role": "bashExecution", "command": "ls"}), "`output`"),
        (entry({"role": "branchSummary"}), "`summary`"),
        ({"type": "branch_summary", "summary": 7}, "`summary`"),
        ({"type": "compaction"}, "`summary`"),
        ('{"type": "message", "message": {"role": "us', "truncated"),
    ],
)
def test_a_broken_row_is_an_error_with_its_line(row, what):
    with pytest.raises(TranscriptError, match=what) as caught:
        read(READER, [HEADER, user("a"), row])
    assert caught.value.line == 3


def test_no_message_at_all():
    with pytest.raises(TranscriptError, match="no messages"):
        read(READER, [HEADER, {"type": "label", "targetId": "x"}])


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "session", "id": 7}],
        [{"type": "message", "message": {}}],
        [{"role": "user", "content": "hi"}],
        ["[1, 2]"],
        ["not json"],
    ],
)
def test_other_files_are_not_pis(rows):
    assert not READER.recognises(document(rows))


def test_a_session_whose_header_was_cut_off_is_still_recognised():
    assert texts(read_one(READER, [user("a")])) == ["a"]
