"""Claude Code's sessions."""

import json
from pathlib import Path

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.claude_code import READER
from tests.transcript.readers.jsonl_rows import (
    document,
    notes,
    opaque,
    read,
    read_one,
    roles,
    texts,
)

UNRECORDED = "Claude Code does not record its system prompt and tools: no count has them"


def text(value):
    return {"type": "text", "text": value}


def use(id_, name="Read", **arguments):
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def answer(id_, content="done", **fields):
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **fields}


def row(kind, uuid, parent, **fields):
    time = "2026-01-02T03:04:05.000Z"
    place = {"uuid": uuid, "parentUuid": parent, "isSidechain": False}
    return {"type": kind, **place, "sessionId": "s-1", "timestamp": time, **fields}


def user(uuid, parent, content, **fields):
    return row("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def assistant(uuid, parent, *content, id_=None, message=None, **fields):
    said = {"role": "assistant", "model": "claude-x", "content": list(content)}
    said |= {"id": id_ or f"msg_{uuid}", **(message or {})}
    return row("assistant", uuid, parent, message=said, **fields)


def usage(read_=0, written=0, fresh=10, output=5):
    return {
        "usage": {
            "input_tokens": fresh,
            "cache_read_input_tokens": read_,
            "cache_creation_input_tokens": written,
            "output_tokens": output,
        }
    }


def boundary(uuid, after, **facts):
    return row(
        "system",
        uuid,
        None,
        logicalParentUuid=after,
        subtype="compact_boundary",
        compactMetadata={"trigger": "auto", "preTokens": 9000, **facts},
    )


def summary(uuid, parent, content="the summary"):
    return user(uuid, parent, content, isCompactSummary=True)


def test_the_rows_of_one_answer_are_one_message_whose_usage_counts_once():
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    run = read_one(
        READER,
        [
            user("u", None, "go"),
            assistant("a1", "u", thought, id_="m", message=usage(100, 20, output=1)),
            assistant("a2", "a1", text("Reading."), id_="m", message=usage(100, 20, output=1)),
            assistant(
                "a3",
                "a2",
                use("c1", path="ä"),
                id_="m",
                message={**usage(100, 20, output=44), "stop_reason": "tool_use"},
                requestId="req",
            ),
            user("r", "a3", [answer("c1")], toolUseResult={"stdout": "done"}),
            assistant("b", "r", text("Done.")),
        ],
    )
    assert roles(run) == "user assistant tool assistant"
    said = run.messages[1]
    assert said["content"] == "Reading."
    assert said["tool_calls"][0]["function"] == {"name": "Read", "arguments": '{"path": "ä"}'}
    assert said["thinking_blocks"] == [thought]
    assert said["reasoning_content"] == "hm"
    assert run.recorded[1] == {
        "model": "claude-x",
        "prompt_tokens": 130,
        "cached_tokens": 100,
        "cache_written_tokens": 20,
        "completion_tokens": 44,
        "finish_reason": "tool_use",
        "request_id": "req",
        "time": "2026-01-02T03:04:05.000Z",
    }
    assert "prompt_tokens" not in run.recorded[3]


def test_results_of_parallel_calls_that_each_follow_their_own_call_are_one_round():
    run = read_one(
        READER,
        [
            user("u", None, "go"),
            assistant("a1", "u", use("c1"), id_="m"),
            user("r1", "a1", [answer("c1", "one")]),
            assistant("a2", "a1", use("c2"), id_="m"),
            user("r2", "a2", [answer("c2", "two")]),
            assistant("b", "r1", text("Done.")),
        ],
    )
    assert roles(run) == "user assistant tool tool assistant"
    assert texts(run)[2:4] == ["one", "two"]
    assert run.tool_rounds == (range(1, 4),)


def test_a_row_that_repeats_the_blocks_before_it_adds_only_what_is_new():
    reading = read(
        READER,
        [
            user("u", None, "go"),
            assistant("a1", "u", text("x"), id_="m"),
            assistant("a2", "a1", text("x"), use("c1"), id_="m"),
            assistant("a3", "a2", use("c1"), id_="m"),
        ],
    )
    (said,) = reading.runs[0].messages[1:]
    assert said["content"] == "x"
    assert [c["id"] for c in said["tool_calls"]] == ["c1"]
    assert reading.passed_over == {"repeated block": 2}


def test_an_id_that_another_message_bears_again_makes_no_one_message_of_two():
    run = read_one(
        READER,
        [
            user("u", None, "a"),
            assistant("a1", "u", text("1"), id_="m"),
            user("v", "a1", "b"),
            assistant("a2", "v", text("2"), id_="m"),
        ],
    )
    assert texts(run) == ["a", "1", "b", "2"]


def test_rows_without_message_ids_are_messages_of_their_own():
    rows = [user("u", None, "a"), assistant("a1", "u", text("1")), assistant("a2", "a1", text("2"))]
    for one in rows[1:]:
        del one["message"]["id"]
    assert texts(read_one(READER, rows)) == ["a", "1", "2"]


def test_text_beside_results_comes_after_them_as_a_user_message():
    run = read_one(
        READER,
        [
            user("u", None, "go"),
            assistant("a", "u", use("c1"), use("c2")),
            user("r", "a", [answer("c1"), text("and this"), answer("c2", is_error=True)]),
        ],
    )
    assert roles(run) == "user assistant tool tool user"
    assert run.messages[3]["is_error"] is True
    assert run.messages[4]["content"] == "and this"


def test_a_rewind_is_a_run_of_its_own_and_noted():
    reading = read(
        READER,
        [
            user("u", None, "one"),
            assistant("a", "u", text("1")),
            row("system", "s", "a", subtype="turn_duration"),
            user("v", "s", "two"),
            assistant("b", "v", text("2")),
            user("w", "s", "zwei"),
            assistant("c", "w", text("II")),
        ],
    )
    first, second = reading.runs
    assert texts(first) == ["one", "1", "two", "2"]
    assert texts(second) == ["one", "1", "zwei", "II"]
    assert first.messages[1] is second.messages[1]
    (fork,) = [note for note in reading.notes if "forks" in note.what]
    assert fork.line == 6
    assert reading.passed_over == {"system/turn_duration": 1}


def test_an_edited_first_prompt_is_a_second_root():
    reading = read(
        READER,
        [
            user("u", None, "one"),
            assistant("a", "u", text("1")),
            user("v", None, "eins"),
            assistant("b", "v", text("I")),
        ],
    )
    assert [texts(run) for run in reading.runs] == [["one", "1"], ["eins", "I"]]


def test_sub_agents_are_runs_of_their_own():
    reading = read(
        READER,
        [
            user("u", None, "go"),
            assistant("a", "u", use("c1", "Task")),
            user("x", None, "explore", isSidechain=True, agentId="ag1"),
            user("y", None, "test", isSidechain=True, agentId="ag2"),
            assistant("x2", "x", text("found"), isSidechain=True, agentId="ag1"),
            assistant("y2", "y", text("tested"), isSidechain=True, agentId="ag2"),
            user("r", "a", [answer("c1", "found")]),
        ],
    )
    assert [texts(run) for run in reading.runs] == [
        ["go", "", "found"],
        ["explore", "found"],
        ["test", "tested"],
    ]
    assert [run.provenance.get("agent") for run in reading.runs] == [None, "ag1", "ag2"]
    assert [run.provenance.get("sidechain") for run in reading.runs] == [None, True, True]
    assert "forks" not in notes(reading)


def test_without_parents_the_order_of_the_file_counts_for_each_agent():
    rows = [
        user("u", None, "go"),
        user("x", None, "explore", isSidechain=True),
        assistant("a", None, text("1")),
        assistant("x2", None, text("found"), isSidechain=True),
    ]
    for one in rows:
        del one["parentUuid"]
    assert [texts(run) for run in read(READER, rows).runs] == [["go", "1"], ["explore", "found"]]


def test_a_compaction_stands_for_all_before_it():
    run = read_one(
        READER,
        [
            user("u", None, "one"),
            assistant("a", "u", text("1")),
            boundary("b", "a", postTokens=70),
            summary("s", "b"),
            user("v", "s", "two"),
            assistant("c", "v", text("2")),
        ],
    )
    assert texts(run) == ["one", "1", "two", "2"]
    (made,) = run.compactions
    assert (made.at, made.kept_from) == (2, 2)
    assert made.inserted == ({"role": "user", "content": "the summary"},)
    assert made.recorded == {
        "trigger": "auto",
        "tokens_before": 9000,
        "tokens_after": 70,
        "time": "2026-01-02T03:04:05.000Z",
    }
    assert [m["content"] for m in run.sent(run.calls[-1])] == ["the summary", "two"]


def test_messages_that_a_compaction_kept_stay_and_what_follows_them_goes_on_after_it():
    segment = {"headUuid": "v", "anchorUuid": "s", "tailUuid": "c"}
    run = read_one(
        READER,
        [
            user("u", None, "one"),
            assistant("a", "u", text("1")),
            user("v", "a", "two"),
            assistant("c", "v", text("2")),
            boundary("b", "c", preservedSegment=segment),
            summary("s", "b"),
            user("w", "c", "three"),
        ],
    )
    assert [m["content"] for m in run.sent(run.calls[-1])] == ["the summary", "two", "2", "three"]


def test_kept_messages_named_in_a_list():
    kept = {"anchorUuid": "s", "uuids": ["v", "c"]}
    run = read_one(
        READER,
        [
            user("u", None, "one"),
            user("v", "u", "two"),
            assistant("c", "v", text("2")),
            boundary("b", "c", preservedMessages=kept),
            summary("s", "b"),
            user("w", "c", "three"),
        ],
    )
    assert run.compactions[0].kept_from == 1
    assert roles(run) == "user user assistant user"


def test_a_summary_without_a_boundary_and_a_boundary_without_a_summary():
    reading = read(
        READER,
        [
            user("u", None, "one"),
            summary("s", "u"),
            user("v", "s", "two"),
            boundary("b", "v"),
            user("w", "b", "three"),
        ],
    )
    (run,) = reading.runs
    assert [(c.at, len(c.inserted)) for c in run.compactions] == [(1, 1), (2, 0)]
    assert "a compaction without its summary" in notes(reading)


def test_a_compaction_with_nothing_before_it_compacts_nothing():
    reading = read(READER, [boundary("b", "gone"), summary("s", "b"), user("u", "s", "go on")])
    (run,) = reading.runs
    assert texts(run) == ["the summary", "go on"]
    assert run.compactions == ()
    assert reading.passed_over == {"system/compact_boundary": 1}


def test_the_providers_own_compaction():
    block = {"type": "compaction", "content": "short"}
    run = read_one(
        READER,
        [user("u", None, "one"), assistant("a", "u", block, text("1")), user("v", "a", "two")],
    )
    assert [(c.at, c.inserted[0]["content"]) for c in run.compactions] == [(1, "short")]
    assert opaque(run) == ["anthropic/compaction"]


def test_what_claude_code_says_in_the_models_place_is_noted_and_has_no_usage():
    synthetic = {"model": "<synthetic>", **usage(fresh=0, output=0)}
    failed = assistant("a", "u", text("API Error"), message=synthetic, isApiErrorMessage=True)
    reading = read(READER, [user("u", None, "go"), failed, user("v", "a", "again")])
    (run,) = reading.runs
    assert roles(run) == "user assistant user"
    assert "prompt_tokens" not in run.recorded[1]
    (note,) = [note for note in reading.notes if "for a call that failed" in note.what]
    assert note.line == 2


def test_an_interrupted_call_is_marked():
    run = read_one(
        READER,
        [
            user("u", None, "go"),
            assistant("a", "u", use("c1")),
            user("i", "a", [text("[Request interrupted by user for tool use]")]),
        ],
    )
    assert run.recorded[1]["interrupted"] is True
    assert pair(run.messages).unanswered == ((1, 0),)


def test_an_interruption_before_any_answer_marks_nothing():
    run = read_one(
        READER, [user("u", None, "go"), user("i", "u", [text("[Request interrupted by user]")])]
    )
    assert run.recorded == {}


def test_an_answer_that_broke_off_is_marked():
    run = read_one(
        READER, [user("u", None, "go"), assistant("a", "u", text("par"), isAbortedMidStream=True)]
    )
    assert run.recorded[1]["interrupted"] is True


def test_a_prompt_that_was_queued_is_a_message_and_other_attachments_are_counted():
    queued = {"type": "queued_command", "prompt": "and tests", "commandMode": "prompt"}
    memory = {"type": "nested_memory", "path": "/x", "content": {"content": "…"}}
    reading = read(
        READER,
        [
            user("u", None, "go"),
            assistant("a", "u", use("c1")),
            user("r", "a", [answer("c1")]),
            row("attachment", "q", "r", attachment=queued),
            row("attachment", "n", "q", attachment=memory),
            assistant("b", "n", text("ok")),
        ],
    )
    assert texts(reading.runs[0]) == ["go", "", "done", "and tests", "ok"]
    assert reading.passed_over == {"attachment/nested_memory": 1}
    assert "1 attachments" in notes(reading)


def test_rows_that_are_no_messages_are_counted_by_kind():
    reading = read(
        READER,
        [
            {"type": "summary", "summary": "t", "leafUuid": "a"},
            {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
            user("u", None, "go"),
            row("system", "m", "u", subtype="microcompact_boundary"),
            row("progress", "p", "m", data={}),
            {"type": "brand-new", "x": 1},
            {"no": "type"},
            assistant("a", "p", text("1")),
        ],
    )
    assert texts(reading.runs[0]) == ["go", "1"]
    assert reading.passed_over == {
        "summary": 1,
        "file-history-snapshot": 1,
        "system/microcompact_boundary": 1,
        "progress": 1,
        "brand-new": 1,
        "row without a type": 1,
    }
    assert "old tool results were cleared" in notes(reading)


def test_a_row_that_stands_there_twice_counts_once():
    one = user("u", None, "go")
    reading = read(READER, [one, one, assistant("a", "u", text("1"))])
    assert texts(reading.runs[0]) == ["go", "1"]
    assert reading.passed_over == {"repeated row": 1}


def test_a_uuid_of_two_rows_proves_nothing():
    reading = read(
        READER,
        [
            user("u", None, "one"),
            assistant("same", "u", text("1")),
            user("same", "same", "two"),
            assistant("b", "same", text("2")),
        ],
    )
    assert texts(reading.runs[0]) == ["one", "1", "two", "2"]
    assert "2 rows follow one that is not in the file, or not once" in notes(reading)


def test_calls_and_results_without_ids_are_kept_and_noted():
    call, result = use("x"), answer("x")
    del call["id"], result["tool_use_id"]
    reading = read(
        READER,
        [user("u", None, "go"), assistant("a", "u", call), user("r", "a", [result, dict(result)])],
    )
    (run,) = reading.runs
    assert "id" not in run.messages[1]["tool_calls"][0]
    assert "tool_call_id" not in run.messages[2]
    assert pair(run.messages).orphans == (3,)
    assert "a tool_use block without `id`" in notes(reading)


def test_a_result_before_its_call_is_noted_with_its_line():
    reading = read(
        READER,
        [
            user("u", None, "go"),
            user("r", "u", [answer("c1")]),
            assistant("a", "r", use("c1")),
        ],
    )
    assert roles(reading.runs[0]) == "user tool assistant"
    (orphan,) = [note for note in reading.notes if "'c1'" in note.what]
    assert orphan.line == 2


def test_a_second_result_of_one_call_is_kept():
    run = read_one(
        READER,
        [
            user("u", None, "go"),
            assistant("a", "u", use("c1")),
            user("r", "a", [answer("c1", "one")]),
            user("s", "r", [answer("c1", "two")]),
        ],
    )
    assert texts(run) == ["go", "", "one", "two"]
    assert pair(run.messages).orphans == (3,)


def test_images_are_parts_and_unknown_blocks_opaque():
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    run = read_one(
        READER,
        [
            user("u", None, [text("see"), {"type": "image", "source": source}]),
            assistant("a", "u", {"type": "fallback", "to": {"model": "y"}}),
        ],
    )
    assert run.messages[0]["content"][1]["size"] == {"bytes": 2}
    assert opaque(run) == ["anthropic/fallback"]


def export(value):
    return Document(Path("export.json"), json.dumps(value, indent=1).encode())


def test_the_export_with_loglines():
    rows = [
        {"type": "user", "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [use("c1")]}},
        {"type": "user", "message": {"role": "user", "content": [answer("c1")]}},
        {"type": "user", "message": {"content": "short"}, "isCompactSummary": True},
        {"type": "user", "message": {"content": "more"}},
    ]
    made = export({"loglines": rows, "title": "t"})
    assert READER.recognises(made)
    reading = READER.read(made)
    (run,) = reading.runs
    assert roles(run) == "user assistant tool user"
    assert [c.at for c in run.compactions] == [3]
    assert reading.passed_over == {"title": 1}
    assert [note.what for note in reading.notes] == [UNRECORDED]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"loglines": 7}, "`loglines` must be a list"),
        ({"loglines": [7]}, r"`loglines\[0\]` must be an object"),
        ({"loglines": [{"type": "user", "message": {"content": 7}}]}, r"`loglines\[0\]`.*content"),
        ({"loglines": []}, "no messages"),
    ],
)
def test_a_broken_export_is_an_error_with_its_place(value, what):
    with pytest.raises(TranscriptError, match=what):
        READER.read(export(value))


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (row("user", "x", "u"), "`message`"),
        (row("assistant", "x", "u", message=[]), "`message`"),
        (user("x", "u", None), "`message.content`"),
        (user("x", "u", [7]), r"`message.content\[0\]`"),
        (user("x", "u", [{"text": "no type"}]), r"`message.content\[0\].type`"),
        (user("x", "u", "x") | {"message": {"role": "system", "content": "x"}}, "role"),
        (assistant("x", "u", message={"content": 7}), "`message.content`"),
        (assistant("x", "u", 7), r"content\[0\]"),
        (assistant("x", "u", {"type": "tool_use", "id": "c", "input": {}}), "name"),
        (assistant("x", "u", message={"type": "error", "error": {}}), "error"),
        (summary("x", "u", 7), "`message.content`"),
        ('{"type": "user", "uuid": "x", "mess', "truncated"),
    ],
)
def test_a_broken_row_is_an_error_with_its_line(broken, what):
    with pytest.raises(TranscriptError, match=what) as caught:
        read(READER, [user("u", None, "go"), broken])
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "user", "content": "x"}],
        [{"type": "session", "id": "s"}],
        [{"role": "user", "content": "x"}],
        ["7"],
        ["not json"],
    ],
)
def test_other_files_are_not_claude_codes(rows):
    assert not READER.recognises(document(rows))


def test_an_error_in_an_answer_of_several_rows_has_the_line_of_the_row():
    nameless = {"type": "tool_use", "id": "c", "input": {}}
    rows = [
        user("u", None, "go"),
        assistant("a1", "u", text("x"), id_="m"),
        assistant("a2", "a1", nameless, id_="m"),
    ]
    with pytest.raises(TranscriptError, match="name") as caught:
        read(READER, rows)
    assert caught.value.line == 3


def test_rows_of_one_answer_that_all_follow_the_prompt():
    rows = [
        user("u", None, "go"),
        assistant("a1", "u", text("Reading."), id_="m"),
        assistant("a2", "u", use("c1"), id_="m"),
    ]
    run = read_one(READER, rows)
    assert roles(run) == "user assistant"
    assert run.messages[1]["content"] == "Reading."
    assert len(run.messages[1]["tool_calls"]) == 1


def test_an_answer_whose_content_is_plain_text():
    run = read_one(
        READER, [user("u", None, "go"), assistant("a", "u", message={"content": "plain"})]
    )
    assert texts(run) == ["go", "plain"]


def test_rows_of_one_answer_without_parents_are_one_message():
    rows = [
        user("u", None, "go"),
        assistant("a1", None, text("Reading."), id_="m"),
        assistant("a2", None, use("c1"), id_="m"),
        user("r", None, [answer("c1")]),
    ]
    for one in rows:
        del one["parentUuid"]
    assert roles(read_one(READER, rows)) == "user assistant tool"
