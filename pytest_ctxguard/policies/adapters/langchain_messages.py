"""OpenAI-format messages as LangChain's, and back."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pytest_ctxguard.policies.adapters.conversion import Conversion
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.transcript.messages import Message, copy_json

CORE = "langchain-core>=1.8"
ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
# what LangChain's own integrations keep there
ADDITIONAL = ("reasoning_content", "refusal", "audio", "function_call")


def conversion(adapter: str) -> Conversion:
    """Return LangChain's conversion, for one of the adapters that use its messages.

    Shown to the policy: content and its parts, names, tool calls, results and their errors,
    reasoning. Every other key stays on the message it belongs to. No usage is reported: what a
    transcript knows of it was that of the recorded request, not of the policy's.
    """
    return Conversion(
        adapter=adapter,
        made=partial(_all_made, adapter),
        back=partial(_back, adapter),
        key=_key,
    )


def _key(message: Any) -> Hashable:
    return ("new", id(message)) if message.id is None else str(message.id)


def _all_made(
    adapter: str, history: Sequence[Message], places: Iterable[int]
) -> Iterator[tuple[Any, int]]:
    core = require("langchain_core.messages", adapter=adapter, pip=CORE)
    for place in places:
        yield _made(core, history[place], f"message-{place}"), place


def _back(adapter: str, message: Any) -> list[Message]:
    kind = str(getattr(message, "type", "")).removesuffix("MessageChunk").lower()
    if kind not in ROLES or not hasattr(message, "additional_kwargs"):
        raise unknown(message, adapter=adapter)
    role = ROLES[kind]
    if role == "system":
        role = message.additional_kwargs.get("__openai_role__", role)
    made: dict[str, Any] = {"role": role, "content": _content(message.content)}
    if message.name is not None:
        made["name"] = message.name
    if role == "tool":
        made["tool_call_id"] = message.tool_call_id
        if message.status == "error":
            made["is_error"] = True
    if role == "assistant" and (message.tool_calls or message.invalid_tool_calls):
        made["content"] = made["content"] or None
        made["tool_calls"] = [
            _call(call) for call in (*message.tool_calls, *message.invalid_tool_calls)
        ]
    for key in ADDITIONAL:
        if key in message.additional_kwargs:
            made[key] = message.additional_kwargs[key]
    return [made]


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part} if isinstance(part, str) else copy_json(part)
        for part in content
    ]


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call["args"]
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    function = {"name": call["name"], "arguments": arguments}
    return {"id": call["id"], "type": "function", "function": function}


def _made(core: Any, message: Message, message_id: str) -> Any:
    content = message.get("content")
    fields: dict[str, Any] = {
        "content": "" if content is None else copy_json(content),
        "id": message_id,
        "name": message.get("name"),
        "additional_kwargs": {key: message[key] for key in ADDITIONAL if key in message},
    }
    role = message.get("role")
    if role == "user":
        return core.HumanMessage(**fields)
    if role == "assistant":
        return core.AIMessage(**fields, **_tool_calls(message))
    if role == "tool":
        status = "error" if message.get("is_error") else "success"
        call_id = message.get("tool_call_id") or ""
        return core.ToolMessage(**fields, tool_call_id=call_id, status=status)
    if role == "developer":
        fields["additional_kwargs"]["__openai_role__"] = role
    return core.SystemMessage(**fields)


def _tool_calls(message: Message) -> dict[str, list[dict[str, Any]]]:
    """Return a message's calls; LangChain has a place of its own for unreadable arguments."""
    valid, invalid = [], []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        text = function.get("arguments")
        made = {"name": function.get("name") or "", "id": call.get("id")}
        try:
            arguments = json.loads(text or "")
        except (TypeError, ValueError):
            arguments = None
        if isinstance(arguments, dict):
            valid.append({**made, "args": arguments, "type": "tool_call"})
        else:
            made |= {"args": text, "error": None, "type": "invalid_tool_call"}
            invalid.append(made)
    return {"tool_calls": valid, "invalid_tool_calls": invalid}
