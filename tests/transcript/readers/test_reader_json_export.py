"""Exported chats as JSON: ShareGPT's lists and ChatGPT's trees."""

import json

import pytest
from export_files import document, read, refused, survives

from pytest_ctxguard.transcript.parts import opaque_parts
from pytest_ctxguard.transcript.readers.json_export import READER

SHARED = {
    "id": "s1",
    "system": "Be brief.",
    "tools": json.dumps([{"name": "find", "description": "Finds.", "parameters": {}}]),
    "conversations": [
        {"from": "human", "value": "Find 1."},
        {"from": "function_call", "value": '{"name": "find", "arguments": {"id": 1}}'},
        {"from": "observation", "value": "found"},
        {"from": "gpt", "value": "Found.", "weight": 1},
    ],
}


def node(key, parent, role, content, **more):
    author = {"role": role, "name": more.pop("author", None), "metadata": {}}
    message = {"id": key, "author": author, "content": content, "create_time": 1700000000, **more}
    return {"id": key, "message": message, "parent": parent, "children": []}


def text(*parts):
    return {"content_type": "text", "parts": list(parts)}


def chat(**changes):
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file://1"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "Think."}]}
    mapping = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
        "s": node("s", "root", "system", text(""), weight=0.0),
        "u": node("u", "s", "user", {"content_type": "multimodal_text", "parts": ["See:", image]}),
        "old": node("old", "u", "assistant", text("An answer that was asked for again.")),
        "t": node("t", "u", "assistant", thoughts),
        "c": node("c", "t", "assistant", {"content_type": "code", "text": "1+1"}, recipient="py"),
        "r": node("r", "c", "tool", {"content_type": "execution_output", "text": "2"}, author="py"),
        "a": node("a", "r", "assistant", text("Two."), metadata={"model_slug": "m-1"}),
    }
    value = {"title": "Sum", "id": "x", "current_node": "a", "mapping": mapping}
    return {**value, **changes}


def test_sharegpt_with_a_tool():
    reading = read(READER, [SHARED])
    (run,) = reading.runs
    assert run.messages[0] == {"role": "system", "content": "Be brief."}
    assert [m["role"] for m in run.messages] == ["system", "user", "assistant", "tool", "assistant"]
    (call,) = run.messages[2]["tool_calls"]
    assert call["function"] == {"name": "find", "arguments": '{"id": 1}'}
    assert run.tools[0]["function"]["name"] == "find"
    assert reading.notes == ()
    assert reading.passed_over == {"conversations.weight": 1}


def test_sharegpt_rows_and_lists_are_runs():
    two = [SHARED, {"conversations": [{"from": "user", "value": "Hi."}]}]
    rows = "\n".join(map(json.dumps, two)).encode()
    for value in (two, rows):
        assert [len(run.messages) for run in read(READER, value).runs] == [5, 1]
    assert read(READER, SHARED, "one.json").runs[0].name == "one"


def test_a_call_that_is_no_json_is_opaque():
    talk = [{"from": "human", "value": "x"}, {"from": "function_call", "value": "find(1)"}]
    (run,) = read(READER, {"conversations": talk}).runs
    assert [part["data"] for part in opaque_parts(run.messages)] == ["find(1)"]


def test_a_tree_is_read_along_its_current_branch():
    reading = read(READER, [chat()])
    (run,) = reading.runs
    user, call, result, answer = run.messages
    assert user["content"][0] == {"type": "text", "text": "See:"}
    assert user["content"][1]["of"] == "chatgpt/image_asset_pointer"
    assert call["reasoning_content"] == "Think."
    assert call["tool_calls"][0]["function"] == {"name": "py", "arguments": '{"input": "1+1"}'}
    assert result == {"role": "tool", "content": "2", "tool_call_id": "c", "name": "py"}
    assert answer == {"role": "assistant", "content": "Two."}
    assert run.calls[-1].recorded == {"model": "m-1", "time": "2023-11-14T22:13:20+00:00"}
    assert reading.passed_over == {"message on another branch": 1, "message of weight 0": 1}
    assert reading.notes[0].what.startswith("messages on other branches than the current one: 1")


def test_a_chat_without_messages_is_told():
    reading = read(READER, [chat(current_node="root", title="Empty"), chat()])
    assert [len(run.messages) for run in reading.runs] == [4]
    assert "`chats[0]` (Empty) has no messages" in [note.what for note in reading.notes]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([SHARED, 3], "`chats[1]` must be an object"),
        ([SHARED, {}], "`chats[1]` is no exported chat"),
        ({"conversations": [*SHARED["conversations"], {"from": "x", "value": ""}]}, "needs `from`"),
        ({"conversations": [*SHARED["conversations"], {"from": "gpt"}]}, "conversations[4]` needs"),
        (chat(current_node="gone"), "the node 'gone', which is not in `mapping`"),
        (chat(mapping=[]), "`chat.mapping` must be an object"),
        (chat(mapping={"a": node("a", "a", "user", text("x"))}), "'a', which is there twice"),
        (chat(mapping={"a": node("a", None, "robot", text("x"))}), "needs an `author.role`"),
        (chat(current_node=None), "no chat in it has messages"),
    ],
)
def test_broken_ones_say_where(value, says):
    assert says in refused(READER, value)


@pytest.mark.parametrize(
    "value", [[], {"conversations": []}, {"conversations": [{"role": "user"}]}, {"mapping": {}}]
)
def test_others_are_not_recognised(value):
    assert not READER.recognises(document(value))


def test_only_typed_errors_leave_it():
    assert survives(READER, [chat()]) > 300
    assert survives(READER, SHARED) > 50
