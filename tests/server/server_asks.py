"""Requests the tests of the server send."""

from __future__ import annotations

import json

ASK = [{"role": "user", "content": "How slow is payments-api?"}]
PARAMETERS = {"type": "object", "properties": {"service": {"type": "string"}}}
FUNCTION = {"name": "get_metrics", "description": "Read.", "parameters": PARAMETERS}
TOOLS = [
    {"type": "function", "function": FUNCTION},
    {"type": "function", "function": {"name": "search_logs", "parameters": PARAMETERS}},
]
CLAUDE_TOOLS = [
    {"name": "get_metrics", "description": "Read.", "input_schema": PARAMETERS},
    {"name": "search_logs", "input_schema": PARAMETERS},
]
ARGUMENTS = {"service": "payments-api"}
CALL = {"tool_calls": [{"name": "get_metrics", "arguments": ARGUMENTS}]}


def call_message(*ids):
    """Return an assistant message with tool calls of these ids."""
    function = {"name": "get_metrics", "arguments": json.dumps(ARGUMENTS)}
    calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result_message(id_, content="p99 is 4 s"):
    return {"role": "tool", "tool_call_id": id_, "content": content}


def tool_use(*ids):
    """Return an Anthropic assistant message with tool uses of these ids."""
    blocks = [
        {"type": "tool_use", "id": id_, "name": "get_metrics", "input": ARGUMENTS} for id_ in ids
    ]
    return {"role": "assistant", "content": blocks}


def tool_result(*ids, content="p99 is 4 s"):
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": content} for id_ in ids]
    return {"role": "user", "content": blocks}
