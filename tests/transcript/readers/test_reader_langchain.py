"""LangChain's messages: three forms, blocks of every age, usage, removal."""

import json

import pytest
from export_files import EXPORTS, document, read, refused, survives

from pytest_ctxguard.transcript.document import open_document
from pytest_ctxguard.transcript.parts import opaque_parts
from pytest_ctxguard.transcript.readers.langchain import READER


def message(kind, content="", **data):
    data = {"content": content, "additional_kwargs": {}, "response_metadata": {}, **data}
    return {"type": kind, "data": {"type": kind, "name": None, "id": None, **data}}


def constructor(of, **kwargs):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "messages", of], "kwargs": kwargs}


CALL = {"name": "find", "args": {"id": 1}, "id": "c1", "type": "tool_call"}
BROKEN = {"name": "find", "args": '{"id":', "id": "c2", "error": None, "type": "invalid_tool_call"}
USAGE = {
    "input_tokens": 30,
    "output_tokens": 8,
    "total_tokens": 38,
    "input_token_details": {"cache_read": 10, "cache_creation": 5},
    "output_token_details": {"reasoning": 3},
}
ANSWER = message(
    "ai",
    "I look.",
    tool_calls=[CALL],
    invalid_tool_calls=[BROKEN],
    usage_metadata=USAGE,
    response_metadata={
        "model_name": "m-1",
        "finish_reason": "tool_calls",
        "logprobs": None,
        "fingerprint": "f",
    },
)
SESSION = [
    message("system", "Be brief."),
    message("human", "Find 1.", id="ask"),
    ANSWER,
    message("tool", "found", tool_call_id="c1", artifact={"raw": 1}),
    message("tool", "no JSON", tool_call_id="c2", status="error"),
    message("ai", "Found."),
]


def function(call_id, arguments):
    inner = {"name": "find", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": inner}


def test_messages_and_calls():
    reading = read(READER, SESSION)
    (run,) = reading.runs
    assert run.messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find 1."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [function("c1", '{"id": 1}'), function("c2", '{"id":')],
        },
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
        {"role": "tool", "content": "no JSON", "tool_call_id": "c2", "is_error": True},
        {"role": "assistant", "content": "Found."},
    )
    assert run.calls[0].recorded == {
        **{"model": "m-1", "finish_reason": "tool_calls", "prompt_tokens": 30},
        **{"completion_tokens": 8, "cached_tokens": 10, "cache_written_tokens": 5},
        "reasoning_tokens": 3,
    }
    assert run.calls[1].recorded == {}
    assert reading.passed_over == {"id": 1, "artifact": 1, "response_metadata.fingerprint": 1}


def test_the_three_forms_read_the_same():
    dumped = [
        constructor("SystemMessage", content="Be brief.", type="system"),
        constructor("HumanMessage", content="Find 1.", id="ask"),
        constructor("AIMessage", **ANSWER["data"]),
        *(constructor("ToolMessage", **item["data"]) for item in SESSION[3:5]),
        constructor("AIMessageChunk", content="Found.", type="AIMessageChunk"),
    ]
    flat = [item["data"] for item in SESSION]
    rows = "\n".join(map(json.dumps, SESSION)).encode()
    expected = read(READER, SESSION).runs[0]
    for value in (dumped, flat, {"messages": flat, "other": 1}, rows):
        reading = read(READER, value)
        run = reading.runs[0]
        assert reading.passed_over.get("other") == (1 if isinstance(value, dict) else None)
        assert run.messages == expected.messages
        assert [c.recorded for c in run.calls] == [c.recorded for c in expected.calls]


def test_arguments_are_as_the_model_wrote_them_and_in_its_order():
    raw = [function("c2", '{"id":2 }'), function("c1", '{"id":1}')]
    second = {**CALL, "id": "c2", "args": {"id": 2}}
    answer = message("ai", tool_calls=[CALL, second], additional_kwargs={"tool_calls": raw})
    (run,) = read(READER, [message("human", "x"), answer]).runs
    assert run.messages[1]["tool_calls"] == raw


def test_a_function_call_of_old_is_answered_by_its_function_message():
    call = {"name": "find", "arguments": "{}"}
    answer = message("ai", additional_kwargs={"function_call": call})
    result = message("function", "found", name="find")
    reading = read(READER, [message("human", "x"), answer, result])
    assert reading.runs[0].messages[2]["name"] == "find"
    assert reading.notes == ()


def content(kind, blocks, **data):
    asked = [message("human", "x"), message(kind, blocks, **data)]
    reading = read(READER, asked)
    return reading.runs[0].messages[1], reading.passed_over


def test_anthropic_blocks():
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    hidden = {"type": "redacted_thinking", "data": "e"}
    use = {"type": "tool_use", "id": "c1", "name": "find", "input": {"id": 1}}
    text = {"type": "text", "text": "So."}
    found, passed_over = content("ai", [thinking, hidden, text, use], tool_calls=[CALL])
    assert found["content"] == "So."
    assert found["thinking_blocks"] == [thinking, hidden]
    assert found["reasoning_content"] == "Hm."
    assert len(found["tool_calls"]) == 1
    assert passed_over == {"content tool_use (again in tool_calls)": 1}


def test_reasoning_of_openai_and_of_langchain():
    item = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "A."}]}
    plain = {"type": "reasoning", "reasoning": "B."}
    found, _ = content("ai", [item, plain, {"type": "text", "text": "C.", "annotations": [1]}])
    assert found["reasoning_content"] == "A.\nB."
    assert found["reasoning_items"] == [item]
    assert found["content"] == "C."


def test_texts_keep_their_cache_marks_and_images_their_sizes():
    mark = {"type": "ephemeral"}
    blocks = [
        "one",
        {"type": "text", "text": "two", "cache_control": mark},
        {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
        {"type": "image", "base64": "R0lGODdhAgABAA==", "mime_type": "image/gif"},
        {"type": "image", "source": {"type": "url", "url": "https://a/c.png"}},
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"},
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "filename": "a.pdf"},
        {"type": "file", "file_id": "f1"},
        {"type": "video", "url": "https://a/d.mp4"},
    ]
    found, _ = content("human", blocks)
    one, two, first, second, third, audio, pdf, file, video = found["content"]
    assert (one, two["cache_control"]) == ({"type": "text", "text": "one"}, mark)
    assert first["image_url"] == {"url": "https://a/b.png"}
    assert second["size"] == {"bytes": 10, "width": 2, "height": 1}
    assert third["image_url"] == {"url": "https://a/c.png"}
    assert audio["input_audio"] == {"data": "AAAA", "format": "wav"}
    assert pdf["file"] == {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}
    assert file["file"] == {"file_id": "f1"}
    assert (video["of"], video["data"]) == ("langchain/video", blocks[-1])


def test_what_has_no_place_is_opaque():
    block = {"type": "server_tool_call", "id": "s1", "name": "search", "args": {}}
    (run,) = read(READER, [message("human", "x"), message("ai", [block])]).runs
    assert [part["of"] for part in opaque_parts(run.messages)] == ["langchain/server_tool_call"]


def test_a_removed_message_is_gone_from_there_on():
    log = [*SESSION, message("remove", id="ask"), message("human", "Thanks."), message("ai", "Ok.")]
    (run,) = read(READER, log).runs
    assert len(run.messages) == len(SESSION) + 2
    assert run.sent(run.calls[1]) == run.messages[:5]
    assert run.sent(run.calls[-1]) == (run.messages[0], *run.messages[2:7])
    assert run.compactions[0].recorded == {"trigger": "remove", "removed": ["ask"]}


def test_all_are_removed_and_one_that_is_not_there_is_noted():
    log = [*SESSION, message("remove", id="__remove_all__"), message("remove", id="none")]
    reading = read(READER, [*log, message("human", "Again."), message("ai", "Yes.")])
    (run,) = reading.runs
    assert run.sent(run.calls[-1]) == (run.messages[0], run.messages[-2])
    assert [note.what for note in reading.notes] == [
        "`messages[7]` removes the message 'none', which is not there"
    ]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (3, "`messages[1]` must be an object"),
        ({"type": "robot", "data": {}}, "`messages[1]` is no LangChain message"),
        (message("tool", "x"), "`messages[1]`: a tool message needs its `tool_call_id`"),
        (message("ai", 3), "`content` must be text"),
        (message("ai", [{"text": "x"}]), "`content[0]` must be text or an object with a `type`"),
        (message("ai", tool_calls={}), "`tool_calls` must be a list"),
        (message("ai", tool_calls=[3]), "`tool_calls[0]` must be an object"),
        (message("chat", "x", role="robot"), "the role of a chat message is one of"),
        (message("remove"), "`messages[1]` removes a message and has no `id`"),
    ],
)
def test_broken_ones_say_where(broken, says):
    assert says in refused(READER, [message("human", "x"), broken])


def test_a_broken_row_has_its_line():
    rows = [json.dumps(message("human", "x")), "", json.dumps({"type": "x"})]
    assert refused(READER, "\n".join(rows).encode(), "a.jsonl").startswith("a.jsonl:3: ")


@pytest.mark.parametrize(
    "value", [[], [{"type": "human"}], [{"role": "user", "content": "x"}], {"messages": []}, 3]
)
def test_others_are_not_recognised(value):
    assert not READER.recognises(document(value))


def test_only_typed_errors_leave_it():
    blocks = [
        {"type": "thinking", "thinking": "x", "signature": "s"},
        {"type": "reasoning", "summary": [{"text": "x"}]},
        {"type": "image", "source": {"data": "AA", "media_type": "image/png"}},
        {"type": "file", "base64": "AA", "mime_type": "a/b", "extras": {"name": "x"}},
        {"type": "tool_use", "id": "c1"},
    ]
    raw = {"tool_calls": [function("c1", "{}")], "function_call": {"name": "x", "arguments": ""}}
    odd = message("ai", blocks, tool_calls=[CALL], additional_kwargs=raw)
    assert survives(READER, [*SESSION[:2], odd, message("remove", id="ask")]) > 100
    assert survives(READER, [constructor("AIMessage", **ANSWER["data"])]) > 100


def test_a_dump_of_the_librarys_own():
    path = EXPORTS / "langchain.json"
    raw = [m for m in json.loads(path.read_text(encoding="utf-8")) if m["type"] != "remove"]
    reading = READER.read(open_document(path))
    (run,) = reading.runs
    names = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
    assert [m["role"] for m in run.messages] == [names[m["type"]] for m in raw]
    usage = [m["data"]["usage_metadata"]["input_tokens"] for m in raw if m["type"] == "ai"]
    assert [call.recorded["prompt_tokens"] for call in run.calls] == usage
    assert [m.get("is_error", False) for m in run.messages if m["role"] == "tool"] == [False, True]
    assert len(run.messages[2]["tool_calls"]) == 2
    assert run.messages[1] not in run.sent(run.calls[-1])
    assert reading.notes == ()
