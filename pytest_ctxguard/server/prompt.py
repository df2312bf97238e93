"""What of a request's body makes it the same request, in whatever shape it came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# The prompt, and what decides whether it fits: a larger model or a shorter answer is a change.
CONTENT = ("system", "messages", "input", "instructions", "tools")
FIT = ("model", "max_tokens", "max_completion_tokens", "max_output_tokens")


def prompt_key(body: Mapping[str, Any]) -> str:
    """Return what is equal for two requests that can only get the same answer.

    Streaming, sampling, metadata and request ids are left out of it.
    """
    return json.dumps({key: body[key] for key in (*CONTENT, *FIT) if key in body}, sort_keys=True)


def prompt_size(body: Mapping[str, Any]) -> int:
    """Return the characters of a request's prompt, tool definitions included, as JSON."""
    content = {key: body[key] for key in CONTENT if key in body}
    return len(json.dumps(content, sort_keys=True, ensure_ascii=False))


def answer_limit(body: Mapping[str, Any]) -> int:
    """Return the tokens that a request reserves for its answer; 0 where it names none."""
    given = (body.get(key) for key in FIT[1:])
    return next((value for value in given if isinstance(value, int)), 0)


def task(body: Mapping[str, Any]) -> str:
    """Return the first user message, as JSON: what tells one session from another."""
    messages = body.get("messages") or ()
    users = (m for m in messages if isinstance(m, Mapping) and m.get("role") == "user")
    return json.dumps(next(users, None), sort_keys=True)


def tools_run(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the tool calls whose results a request carries: id and name, in order."""
    names: dict[str, str] = {}
    found = []
    for message in body.get("messages") or ():
        if not isinstance(message, Mapping):
            continue
        for call in message.get("tool_calls") or ():
            names[str(call.get("id"))] = str((call.get("function") or {}).get("name"))
        if message.get("role") == "tool":
            found.append(str(message.get("tool_call_id")))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, Mapping) else None
            if kind == "tool_use":
                names[str(block.get("id"))] = str(block.get("name"))
            elif kind == "tool_result":
                found.append(str(block.get("tool_use_id")))
    return [(id_, names[id_]) for id_ in found if id_ in names]
