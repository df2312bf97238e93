"""Recordings of any size, made by repeating the project's own sessions in four formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from pytest_ctxguard.transcript.library import available, find
from pytest_ctxguard.transcript.messages import content_text, tool_calls
from pytest_ctxguard.transcript.model import Transcript

Rows = Iterator[str]
URL = "https://api.openai.com/v1/chat/completions"
MODEL = {"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}
REQUESTS = 3  # of each session in a cassette, evenly spread


def sessions() -> Iterator[Transcript]:
    """Yield the built-in transcripts over and over, each copy with call ids of its own."""
    known = [find(name) for name in sorted(available())]
    for number, session in enumerate(cycle(known)):
        yield _copy(session, number)


def _copy(session: Transcript, number: int) -> Transcript:
    """Return a session that begins and calls like no other."""
    messages: list[dict[str, Any]] = []
    for message in session.messages:
        changed = dict(message)
        if tool_calls(message):
            calls = [{**call, "id": f"{call['id']}_{number}"} for call in tool_calls(message)]
            changed["tool_calls"] = calls
        if "tool_call_id" in message:
            changed["tool_call_id"] = f"{message['tool_call_id']}_{number}"
        messages.append(changed)
    messages[0]["content"] = f"Session {number}. {content_text(messages[0])}"
    return Transcript(name=session.name, messages=tuple(messages), tools=session.tools)


def ctxguard() -> Rows:
    """Yield one long session in the project's own format."""
    yield json.dumps({"type": "transcript", "version": 1, "name": "long"}) + "\n"
    for session in sessions():
        for message in session.messages:
            yield json.dumps({"type": "message", "message": message}) + "\n"


def openai_chat() -> Rows:
    """Yield request bodies of OpenAI's chat completions, one session a line."""
    for session in sessions():
        yield json.dumps(_body(session, len(session.messages) - 1)) + "\n"


def cassette() -> Rows:
    """Yield a vcrpy cassette: some requests of each session, with their answers."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yield "version: 1\ninteractions:\n"
    for session in sessions():
        calls = [call for call in session.calls if call.history < len(session.messages)]
        for call in calls[:: max(1, len(calls) // REQUESTS)]:
            exchange = _exchange(session, call.history)
            yield yaml.dump([exchange], Dumper=dumper, sort_keys=False, width=120)


def _exchange(session: Transcript, at: int) -> dict[str, Any]:
    answer = {
        "id": f"chatcmpl-{at}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": MODEL["openai"],
        "choices": [{"index": 0, "message": session.messages[at], "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return {
        "request": {
            "method": "POST",
            "uri": URL,
            "headers": {"content-type": ["application/json"]},
            "body": json.dumps(_body(session, at)),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": json.dumps(answer)},
        },
    }


def _body(session: Transcript, at: int) -> dict[str, Any]:
    return {
        "model": MODEL["openai"],
        "messages": list(session.messages[:at]),
        **({"tools": list(session.tools)} if session.tools else {}),
    }


def claude_code() -> Rows:
    """Yield one long session of Claude Code."""
    parent: str | None = None
    spoken = (message for session in sessions() for message in session.messages)
    for number, message in enumerate(each for each in spoken if each["role"] != "system"):
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        role = "assistant" if message["role"] == "assistant" else "user"
        inner: dict[str, Any] = {"role": role, "content": _blocks(message)}
        if role == "assistant":
            usage = {"input_tokens": 3, "cache_read_input_tokens": 90, "output_tokens": 10}
            written = {"cache_creation_input_tokens": 10}
            inner |= {"id": f"msg_{number}", "type": "message", "model": MODEL["anthropic"]}
            inner["usage"] = usage | written
        row = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/user/project",
            "sessionId": "00000000-0000-4000-8000-0000000000aa",
            "version": "2.0.1",
            "type": role,
            "message": inner,
            "uuid": uuid,
            "timestamp": f"2026-11-{1 + number // 86_400 % 28:02d}T{_clock(number)}.000Z",
        }
        parent = uuid
        yield json.dumps(row) + "\n"


def _clock(seconds: int) -> str:
    return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _blocks(message: Mapping[str, Any]) -> str | list[dict[str, Any]]:
    text = content_text(message)
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
        return [result]
    if message["role"] == "user":
        return text
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for call in tool_calls(message):
        arguments = call["function"]["arguments"]
        asked = {"id": call["id"], "name": call["function"]["name"], "input": _parsed(arguments)}
        blocks.append({"type": "tool_use", **asked})
    return blocks


def _parsed(arguments: str) -> Any:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {"text": arguments}
    return value if isinstance(value, dict) else {"value": value}


FORMATS: Mapping[str, tuple[Callable[[], Rows], str]] = {
    "ctxguard": (ctxguard, ".jsonl"),
    "openai-chat": (openai_chat, ".jsonl"),
    "vcrpy": (cassette, ".yaml"),
    "claude-code": (claude_code, ".jsonl"),
}
"""Format -> what yields its text without end, and its suffix."""


def write(path: Path, rows: Iterable[str], *, size: int) -> int:
    """Write whole rows until a file has ``size`` bytes or more; returns how many it has."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(row)
            written += len(row.encode())
            if written >= size:
                break
    return written
