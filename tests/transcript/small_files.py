"""A small good file for each format that has none in the fixtures."""

import json

from tests.factories import session, tool

ASK = "Why is checkout slow?"
CALL_ID = "call_1"


def text(kind, value):
    return {"type": kind, "text": value}


RESPONSES = [
    {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": ASK}],
        "tools": [{"type": "function", **tool()["function"]}],
        "response": {
            "id": "resp_1",
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [text("summary_text", "Look.")]},
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "call_id": CALL_ID,
                    "name": "search",
                    "arguments": '{"q": "checkout"}',
                },
            ],
            "usage": {
                "input_tokens": 30,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 9,
                "output_tokens_details": {"reasoning_tokens": 4},
            },
        },
    },
    {
        "model": "m",
        "previous_response_id": "resp_1",
        "input": [{"type": "function_call_output", "call_id": CALL_ID, "output": "a lock"}],
        "response": {
            "id": "resp_2",
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{**text("output_text", "A lock."), "annotations": []}],
                }
            ],
        },
    },
]
CALLED = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "checkout"}}
ANSWERED = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("text", "a lock")]}
MARKED = {**text("text", "Be brief."), "cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "Look.", "signature": "c2lnbmF0dXJl"}
ANTHROPIC = {
    "request": {
        "model": "m",
        "max_tokens": 100,
        "system": [MARKED],
        "tools": [{"name": "search", "description": "Searches.", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": ASK},
            {"role": "assistant", "content": [THOUGHT, text("text", "I look."), CALLED]},
            {"role": "user", "content": [ANSWERED, text("text", "Well?")]},
        ],
    },
    "response": {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "model": "m",
        "content": [text("text", "A lock.")],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 20, "output_tokens": 3},
    },
}
SHARED = {
    "id": "s1",
    "system": "Be brief.",
    "conversations": [
        {"from": "human", "value": ASK},
        {"from": "function_call", "value": '{"name": "search", "arguments": {"q": "x"}}'},
        {"from": "observation", "value": "a lock"},
        {"from": "gpt", "value": "A lock."},
    ],
}


def node(key, parent, role, content):
    message = {"id": key, "author": {"role": role}, "content": content, "create_time": 1700000000}
    return {"id": key, "message": message, "parent": parent, "children": []}


TREE = {
    "title": "Checkout",
    "current_node": "a",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["u"]},
        "u": node("u", "root", "user", {"content_type": "text", "parts": [ASK]}),
        "c": node("c", "u", "assistant", {"content_type": "code", "text": "look()"}),
        "r": node("r", "c", "tool", {"content_type": "execution_output", "text": "a lock"}),
        "a": node("a", "r", "assistant", {"content_type": "text", "parts": ["A lock."]}),
    },
}
TREE["mapping"]["c"]["message"]["recipient"] = "python"
MARKDOWN = f"""# Checkout

## User

{ASK}

## Assistant

```sh
## User
ls
```

## User

And now?
"""
CHAT = {"model": "m", "messages": list(session().messages), "tools": list(session().tools)}
SMALL = {
    "chat.json": json.dumps(CHAT, indent=1).encode(),
    "responses.jsonl": "".join(json.dumps(row) + "\n" for row in RESPONSES).encode(),
    "anthropic.json": json.dumps(ANTHROPIC, indent=1).encode(),
    "sharegpt.json": json.dumps([SHARED]).encode(),
    "tree.json": json.dumps([TREE], indent=1).encode(),
    "chat.md": MARKDOWN.encode(),
}
