"""Small good sessions of agents, for readers whose real files are not part of this project."""

import json

TIME = "2026-01-02T03:04:05.000Z"
CALL = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"c":"ls"}'}}


def text(value, kind="text"):
    return {"type": kind, "text": value}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def claude_code():
    """A session with a call in rows that share an answer's id, a snapshot and a compaction."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 5}
    said = {"role": "assistant", "model": "claude-x", "id": "msg_1", "usage": usage}
    called = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a"}}
    done = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    bodies = [
        ("user", {"message": {"role": "user", "content": "Look at a."}}),
        ("assistant", {"message": {**said, "content": [text("I look.")]}}),
        ("assistant", {"message": {**said, "content": [called]}}),
        ("user", {"message": {"role": "user", "content": [done]}, "toolUseResult": {"n": 1}}),
        ("assistant", {"message": {**said, "id": "msg_2", "content": [text("It is empty.")]}}),
        ("system", {"subtype": "compact_boundary", "compactMetadata": {"preTokens": 90}}),
        ("user", {"message": {"role": "user", "content": "Summary."}, "isCompactSummary": True}),
        ("user", {"message": {"role": "user", "content": "Go on."}}),
    ]
    rows = []
    for number, (kind, body) in enumerate(bodies):
        before = f"u{number - 1}" if number else None
        parent = None if kind == "system" else before
        place = {"uuid": f"u{number}", "parentUuid": parent, "isSidechain": False}
        logical = {"logicalParentUuid": before} if kind == "system" else {}
        rows.append({"type": kind, **place, **logical, "sessionId": "s", "timestamp": TIME, **body})
    return lines([{"type": "file-history-snapshot", "messageId": "u0", "snapshot": {}}, *rows])


def codex():
    usage = {"input_tokens": 90, "cached_input_tokens": 30, "output_tokens": 5}
    info = {"total_token_usage": {"total_tokens": 95}, "last_token_usage": usage}
    asked = {"role": "user", "content": [text("Look at a.", "input_text")]}
    said = {"role": "assistant", "content": [text("It is empty.", "output_text")]}
    rows = [
        ("session_meta", {"id": "s-1", "timestamp": TIME, "cli_version": "0.146.0"}),
        ("turn_context", {"model": "gpt-x", "effort": "high"}),
        ("response_item", {"type": "message", **asked}),
        ("response_item", {"type": "reasoning", "summary": [text("hm", "summary_text")]}),
        (
            "response_item",
            {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
        ),
        ("response_item", {"type": "function_call_output", "call_id": "c1", "output": "a"}),
        ("event_msg", {"type": "token_count", "info": info, "rate_limits": {}}),
        ("response_item", {"type": "message", **said}),
        ("compacted", {"message": "Summary.", "replacement_history": None}),
        ("response_item", {"type": "message", **asked}),
    ]
    return lines({"timestamp": TIME, "type": kind, "payload": body} for kind, body in rows)


def pi():
    called = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "a"}}
    usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 20, "cost": {"total": 0.2}}
    said = {"role": "assistant", "provider": "anthropic", "model": "claude-x", "usage": usage}
    done = {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "isError": False}
    bodies = [
        {"role": "user", "content": "Look at a.", "timestamp": 1},
        {**said, "content": [text("I look."), called], "stopReason": "toolUse", "timestamp": 2},
        {**done, "content": [text("done")], "timestamp": 3},
        {**said, "content": [text("It is empty.")], "stopReason": "stop", "timestamp": 4},
    ]
    rows = [{"type": "message", "timestamp": TIME, "message": body} for body in bodies]
    cut = {"type": "compaction", "timestamp": TIME, "summary": "Summary.", "tokensBefore": 90}
    rows += [{**cut, "firstKeptEntryIndex": 3, "firstKeptEntryId": "e2"}, rows[0]]
    numbered = [
        {"id": f"e{n}", "parentId": f"e{n - 1}" if n else None, **row} for n, row in enumerate(rows)
    ]
    header = {"type": "session", "id": "s-1", "timestamp": TIME, "cwd": "/x", "version": 3}
    return lines([header, *numbered])


def swe_agent():
    step = {"action": "ls", "response": "I list.", "observation": "a.py", "state": {}}
    action = {"role": "assistant", "content": "I list.", "thought": "I list.", "action": "ls"}
    history = [
        {"role": "system", "content": "Use the shell.", "agent": "main"},
        {"role": "user", "content": "Fix it.", "agent": "main"},
        {**action, "agent": "main", "tool_calls": [CALL]},
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": [CALL["id"]]},
        {"role": "assistant", "content": "submit", "action": "submit", "agent": "main"},
    ]
    info = {"exit_status": "submitted", "model_stats": {"api_calls": 2, "tokens_sent": 30}}
    trajectory = [step, {**step, "action": "submit", "response": "submit"}]
    value = {"environment": "main", "trajectory": trajectory, "history": history, "info": info}
    return json.dumps(value, indent=2).encode()


def tau_bench():
    traj = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Find order 1."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": CALL["id"], "name": "bash", "content": "{}"},
        {"role": "assistant", "content": "Found."},
    ]
    info = {"task": {"user_id": "u"}, "source": "user", "user_cost": 0.5, "reward_info": {}}
    result = {"task_id": 4, "reward": 1.0, "info": info, "traj": traj, "trial": 0}
    return json.dumps([result, {**result, "task_id": 5}]).encode()


SESSIONS = {
    "claude-code.jsonl": claude_code(),
    "codex.jsonl": codex(),
    "pi.jsonl": pi(),
    "swe-agent.traj": swe_agent(),
    "tau-bench.json": tau_bench(),
}
