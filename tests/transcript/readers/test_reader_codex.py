"""Rollouts of the Codex CLI."""

import pytest

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.readers.codex import READER
from tests.transcript.readers.jsonl_rows import (
    document,
    notes,
    opaque,
    read,
    read_one,
    roles,
    texts,
)

TIME = "2026-01-02T03:04:05.000Z"


def row(kind, **payload):
    return {"timestamp": TIME, "type": kind, "payload": payload}


def meta(**fields):
    known = {"id": "s-1", "timestamp": TIME, "cli_version": "0.146.0", "model_provider": "openai"}
    return row("session_meta", **known, **fields)


def item(kind, **fields):
    return row("response_item", type=kind, **fields)


def event(kind, **fields):
    return row("event_msg", type=kind, **fields)


def message(role, text, **fields):
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **fields)


def user(text):
    return message("user", text)


def said(text):
    return message("assistant", text)


def call(id_, name="shell", arguments="{}", **fields):
    return item("function_call", call_id=id_, name=name, arguments=arguments, **fields)


def output(id_, text="done"):
    return item("function_call_output", call_id=id_, output=text)


def tokens(input_, total, **last):
    usage = {"input_tokens": input_, "cached_input_tokens": 30, "output_tokens": 5}
    usage |= {"reasoning_output_tokens": 2, **last}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": usage}
    return event("token_count", info=info, rate_limits={})


def reasoning(text="hm"):
    return item("reasoning", summary=[{"type": "summary_text", "text": text}], id="rs")


def test_the_items_of_one_answer_are_one_message():
    run = read_one(
        READER,
        [
            meta(),
            row("turn_context", model="gpt-x", effort="high"),
            user("go"),
            reasoning(),
            said("Looking."),
            call("c1", arguments='{"command": ["ä"]}'),
            call("c2"),
            tokens(40, 45),
            output("c1", "one"),
            output("c2", "two"),
            said("Done."),
            tokens(60, 110),
        ],
    )
    assert roles(run) == "user assistant tool tool assistant"
    first = run.messages[1]
    assert first["content"] == "Looking."
    assert [c["id"] for c in first["tool_calls"]] == ["c1", "c2"]
    assert first["tool_calls"][0]["function"]["arguments"] == '{"command": ["ä"]}'
    assert first["reasoning_items"][0]["summary"][0]["text"] == "hm"
    assert run.recorded[1] == {
        "model": "gpt-x",
        "effort": "high",
        "prompt_tokens": 40,
        "cached_tokens": 30,
        "completion_tokens": 5,
        "reasoning_tokens": 2,
        "time": TIME,
    }
    assert run.recorded[4]["prompt_tokens"] == 60
    assert run.provenance == {
        "session": "s-1",
        "time": TIME,
        "version": "0.146.0",
        "provider": "openai",
    }


def test_usage_that_comes_before_the_items_of_its_call():
    reading = read(
        READER,
        [
            meta(),
            user("go"),
            event("agent_reasoning", text="hm"),
            tokens(40, 45),
            reasoning(),
            call("c1"),
            output("c1"),
            tokens(60, 110),
            said("Done."),
            tokens(80, 190),
            user("more"),
            tokens(90, 280),
            said("Well."),
        ],
    )
    (run,) = reading.runs
    assert roles(run) == "user assistant tool assistant user assistant"
    assert [facts["prompt_tokens"] for facts in run.recorded.values()] == [40, 60, 90]
    assert reading.passed_over == {"event_msg/agent_reasoning": 1, "event_msg/token_count": 1}


def test_usage_without_news_is_counted():
    reading = read(
        READER,
        [
            meta(),
            user("go"),
            said("1"),
            tokens(40, 45),
            tokens(40, 45),
            event("token_count", info=None),
            tokens(0, 50, cached_input_tokens=0, output_tokens=0, reasoning_output_tokens=0),
            tokens(70, 130),
            user("more"),
        ],
    )
    assert reading.runs[0].recorded[1]["prompt_tokens"] == 40
    assert reading.passed_over == {"event_msg/token_count": 4}


def test_usage_that_no_answer_followed_is_counted():
    reading = read(READER, [meta(), user("go"), tokens(1, 2), tokens(3, 5)])
    assert reading.passed_over == {"event_msg/token_count": 2}


def test_an_answer_after_usage_is_another_call():
    run = read_one(
        READER, [meta(), user("go"), said("1"), tokens(40, 45), said("2"), tokens(50, 100)]
    )
    assert roles(run) == "user assistant assistant"
    assert [facts["prompt_tokens"] for facts in run.recorded.values()] == [40, 50]


def test_every_kind_of_call_and_result():
    action = {"type": "exec", "command": ["ls"]}
    run = read_one(
        READER,
        [
            meta(),
            user("go"),
            item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin"),
            item("local_shell_call", id="c2", call_id=None, action=action, status="completed"),
            item("tool_search_call", call_id="c3", arguments={"query": "x"}, execution="client"),
            item(
                "custom_tool_call_output",
                call_id="c1",
                output=[{"type": "input_text", "text": "A"}],
            ),
            output("c2", "B"),
            item("tool_search_output", call_id="c3", tools=[]),
            item("web_search_call", id="w", action={"type": "search"}),
            item("image_generation_call", id="i", result="x"),
        ],
    )
    assert roles(run) == "user assistant tool tool tool assistant"
    names = [c["function"]["name"] for c in run.messages[1]["tool_calls"]]
    assert names == ["apply_patch", "local_shell", "tool_search"]
    assert run.messages[1]["tool_calls"][0]["function"]["arguments"] == "*** Begin"
    assert pair(run.messages).unanswered == ()
    assert opaque(run) == [
        "openai-responses/tool_search_output",
        "openai-responses/web_search_call",
        "openai-responses/image_generation_call",
    ]


def test_what_instructed_the_model_comes_first():
    tools = [
        {"name": "flat", "description": "d", "inputSchema": {"type": "object"}},
        {"type": "namespace", "name": "ns", "tools": [{"name": "inner"}, {"name": "outer"}]},
        {"name": "later", "deferLoading": True},
    ]
    reading = read(
        READER,
        [
            meta(base_instructions={"text": "You are Codex."}, dynamic_tools=tools),
            message("developer", "Be brief."),
            user("go"),
        ],
    )
    (run,) = reading.runs
    assert roles(run) == "system developer user"
    assert texts(run)[0] == "You are Codex."
    assert [tool["function"]["name"] for tool in run.tools] == ["flat", "inner", "outer"]
    assert run.tools[0]["function"]["parameters"] == {"type": "object"}
    assert reading.passed_over == {"dynamic_tools (loaded on demand)": 1}


def test_older_instructions_that_are_a_message_already_are_not_sent_twice():
    header = {"id": "s-1", "timestamp": TIME, "instructions": "Use tabs."}
    wrapped = user("<user_instructions>Use tabs.</user_instructions>")["payload"]
    reading = read(READER, [header, {"record_type": "state"}, wrapped, user("go")["payload"]])
    (run,) = reading.runs
    assert roles(run) == "user user"
    assert reading.passed_over == {
        "session_meta.instructions (also in a message)": 1,
        "state": 1,
    }
    run = read_one(READER, [header, user("go")["payload"]])
    assert texts(run) == ["Use tabs.", "go"]


def test_items_without_an_envelope():
    rows = [user("go"), reasoning(), call("c1"), output("c1"), said("Done.")]
    header = {"id": "s-1", "timestamp": TIME, "instructions": None}
    run = read_one(READER, [header, *(one["payload"] for one in rows)])
    assert roles(run) == "user assistant tool assistant"
    assert run.provenance["session"] == "s-1"


def test_a_compaction_with_its_history():
    history = [
        user("one")["payload"],
        message("developer", "Be brief.")["payload"],
        {"type": "ghost_snapshot", "ghost_commit": {}},
        {"type": "compaction", "encrypted_content": "x"},
    ]
    reading = read(
        READER,
        [
            meta(base_instructions={"text": "You are Codex."}),
            message("developer", "Be brief."),
            user("one"),
            said("1"),
            row("compacted", message="", replacement_history=history),
            event("context_compacted"),
            user("two"),
        ],
    )
    (run,) = reading.runs
    assert roles(run) == "system developer user assistant user"
    (made,) = run.compactions
    assert (made.at, made.kept_from) == (4, 4)
    sent = run.sent(run.calls[-1])
    assert [m["role"] for m in sent] == ["system", "developer", "user", "assistant", "user"]
    assert sent[3]["content"][0]["of"] == "openai-responses/compaction"
    assert reading.passed_over == {
        "response_item/ghost_snapshot": 1,
        "event_msg/context_compacted": 1,
    }


def test_an_older_compaction_has_only_its_summary():
    reading = read(
        READER,
        [meta(), user("one"), said("1"), row("compacted", message="so far"), user("two")],
    )
    (run,) = reading.runs
    assert [m["content"] for m in run.sent(run.calls[-1])] == ["so far", "two"]
    assert "an older compaction" in notes(reading)


def test_an_aborted_turn_marks_its_call():
    reading = read(
        READER,
        [
            meta(),
            user("go"),
            call("c1"),
            event("turn_aborted", reason="interrupted"),
            user("more"),
        ],
    )
    (run,) = reading.runs
    assert run.recorded[1]["interrupted"] is True
    assert pair(run.messages).unanswered == ((1, 0),)
    assert reading.passed_over == {"event_msg/turn_aborted": 1}


def test_what_events_alone_know_is_noted():
    reading = read(
        READER,
        [
            user("go"),
            event("turn_aborted", reason="interrupted"),
            event("error", message="overloaded"),
            event("thread_rolled_back", num_turns=2),
            meta(),
            meta(),
        ],
    )
    said_ = notes(reading)
    assert "a call failed: overloaded" in said_
    assert "2 turns were taken back here" in said_
    assert "a further session_meta" in said_


def test_a_session_whose_header_was_cut_off_is_noted():
    reading = read(READER, [user("go")])
    assert "no session_meta" in notes(reading)


def test_what_another_agent_sent_is_a_message_to_the_model():
    content = [{"type": "input_text", "text": "found"}, {"type": "encrypted_content", "data": "x"}]
    run = read_one(
        READER,
        [meta(), item("agent_message", author="a", recipient="b", content=content)],
    )
    assert run.messages[0]["role"] == "user"
    assert run.messages[0]["author"] == "a"
    assert opaque(run) == ["openai-responses/encrypted_content"]


def test_rows_and_fields_that_are_no_part_of_a_message_are_counted():
    reading = read(
        READER,
        [
            meta(),
            row("turn_context", model="gpt-x"),
            row("world_state", full=True),
            {"type": "brand-new", "payload": 7},
            {"timestamp": TIME},
            event("user_message", message="go"),
            item("message", role="user", content="go", metadata={"turn_id": "t"}),
            item("brand_new_item", x=1),
        ],
    )
    assert opaque(reading.runs[0]) == ["openai-responses/brand_new_item"]
    assert reading.passed_over == {
        "turn_context": 1,
        "world_state": 1,
        "brand-new": 1,
        "row without a type": 1,
        "event_msg/user_message": 1,
        "response_item.metadata": 1,
    }


def test_a_result_before_its_call_is_noted_with_its_line():
    reading = read(READER, [meta(), user("go"), output("c1"), call("c1")])
    (orphan,) = [note for note in reading.notes if "'c1'" in note.what]
    assert orphan.line == 3
    assert pair(reading.runs[0].messages).unanswered == ((2, 0),)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ({"type": "response_item", "payload": None}, "`payload`"),
        ({"type": "event_msg", "payload": [1]}, "`payload`"),
        (item("message", role="robot", content=[]), "`role`"),
        (item("message", role="user", content=7), "content"),
        (item("function_call", call_id="c", arguments="{}"), "name"),
        (item("function_call", name="x", arguments="{}"), "call_id"),
        (item("function_call_output", output="x"), "call_id"),
        (item("local_shell_call", action={}), "call_id"),
        (row("response_item", x=1), "type"),
        (row("compacted", message=None), "`message`"),
        (row("compacted", replacement_history={}), "`replacement_history`"),
        (row("compacted", replacement_history=[{"type": "message"}]), "role"),
        ('{"type": "response_item", "payl', "truncated"),
    ],
)
def test_a_broken_row_is_an_error_with_its_line(broken, what):
    with pytest.raises(TranscriptError, match=what) as caught:
        read(READER, [meta(), user("go"), broken])
    assert caught.value.line == 3


def test_a_broken_tool_definition():
    with pytest.raises(TranscriptError, match="dynamic_tools") as caught:
        read(READER, [meta(dynamic_tools=[{"description": "d"}]), user("go")])
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "session", "id": "s", "timestamp": TIME}],
        [{"role": "user", "content": "x"}],
        [{"id": "x", "timestamp": TIME, "messages": []}],
        ["7"],
        ["not json"],
    ],
)
def test_other_files_are_not_codexs(rows):
    assert not READER.recognises(document(rows))


def test_an_error_in_an_answer_of_several_items_has_the_line_of_the_item():
    with pytest.raises(TranscriptError, match=r"`payload\.name`") as caught:
        read(READER, [meta(), user("go"), said("1"), item("function_call", call_id="c")])
    assert caught.value.line == 4


def test_an_item_whose_type_is_no_text():
    with pytest.raises(TranscriptError, match="type"):
        read(READER, [meta(), row("response_item", type=["x"])])
