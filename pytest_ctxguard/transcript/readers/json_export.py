"""Exported chats as JSON: ShareGPT's ``conversations``, and ChatGPT's trees of messages.

ShareGPT's tools have no ids: a call and the result after it both have none, which pairs them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers.chatgpt_export import path_of, read_chat
from pytest_ctxguard.transcript.readers.checked import name, objects
from pytest_ctxguard.transcript.reading import Note, Reader, Reading, count
from pytest_ctxguard.transcript.shape import is_tool
from pytest_ctxguard.transcript.wire.typed import mapping

ROLE_OF = {
    **{"system": "system", "human": "user", "user": "user", "gpt": "assistant"},
    **{"assistant": "assistant", "chatgpt": "assistant", "function_call": "assistant"},
    **{"tool": "tool", "observation": "tool", "function_response": "tool"},
}
Placed = tuple[str, int | None, Mapping[str, Any]]  # where, line, one exported chat


def recognises(document: Document) -> bool:
    """Tell by the first chat."""
    value = document.value
    first = value[0] if isinstance(value, list) and value else value
    if value is None and document.head:
        first = document.head[0]
    return _is_tree(first) or _is_sharegpt(first)


def read(document: Document) -> Reading:
    """Read every chat."""
    runs: list[Transcript] = []
    notes: list[Note] = []
    passed_over: dict[str, int] = {}
    chats = _chats(document)
    stem = document.path.stem or "transcript"
    for index, (where, line, chat) in enumerate(chats):
        builder = Builder(document, name=f"{stem}-{index}" if len(chats) > 1 else stem)
        if _is_tree(chat):
            path = path_of(document, chat, where=where, line=line)
            read_chat(builder, path, chat, passed_over)
        elif _is_sharegpt(chat):
            _read_sharegpt(document, builder, chat, passed_over, where=where, line=line)
        else:
            raise document.fail(
                f"`{where}` is no exported chat: it has neither `mapping` with `current_node` nor "
                "`conversations` of `from` and `value`. Mend or remove it.",
                line,
            )
        title = name(chat.get("title"))
        if builder.messages:
            runs.append(builder.build(title=title, chat_id=name(chat.get("id"))))
        else:
            count(passed_over, "chat without messages")
            builder.note(f"`{where}` ({title or 'untitled'}) has no messages", line=line)
        notes += builder.notes
    if not runs:
        raise document.fail("no chat in it has messages; nothing could be replayed")
    return Reading(
        format=READER.name, runs=tuple(runs), passed_over=passed_over, notes=tuple(notes)
    )


READER = Reader(name="chat-export", recognises=recognises, read=read)


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict) and {"mapping", "current_node"} <= set(value)


def _is_sharegpt(value: Any) -> bool:
    listed = mapping(value).get("conversations")
    return (
        isinstance(listed, list) and bool(listed) and {"from", "value"} <= set(mapping(listed[0]))
    )


def _chats(document: Document) -> Sequence[Placed]:
    value = document.value
    if isinstance(value, dict):
        return [("chat", None, value)]
    if value is None:
        return [("chat", line, row) for line, row in document.rows]
    listed = objects(document, value, where="chats")
    return [(f"chats[{index}]", None, chat) for index, chat in enumerate(listed)]


def _read_sharegpt(
    document: Document,
    builder: Builder,
    chat: Mapping[str, Any],
    passed_over: dict[str, int],
    *,
    where: str,
    line: int | None,
) -> None:
    tools = _tools(chat.get("tools"))
    for tool in tools or ():
        builder.tool(tool, line=line)
    if chat.get("tools") and tools is None:
        count(passed_over, "tools that are no definitions")
    if chat.get("system") not in (None, ""):
        system = {"role": "system", "content": chat["system"]}
        builder.add(system, where=f"{where}.system", line=line)
    for index, item in enumerate(chat["conversations"]):
        place = f"{where}.conversations[{index}]"
        role = ROLE_OF.get(str(mapping(item).get("from")))
        if role is None or not isinstance(item.get("value"), str):
            raise document.fail(
                f"`{place}` needs `from` ({', '.join(ROLE_OF)}) and `value`, a text. Mend it.",
                line,
            )
        message: dict[str, Any] = {"role": role, "content": item["value"]}
        if item["from"] == "function_call":
            message |= _called(item["value"])
        if role == "tool":
            message["tool_call_id"] = None
        builder.add(message, where=place, line=line)
        for key in item:
            if key not in ("from", "value"):
                count(passed_over, f"conversations.{key}")
    for key in chat:
        if key not in ("conversations", "system", "tools", "title", "id"):
            count(passed_over, key)


def _called(text: str) -> dict[str, Any]:
    """Return a call that was written as JSON; other text stays, as an opaque part."""
    value = _parsed(text)
    calls = []
    for call in value if isinstance(value, list) else [value]:
        if name(mapping(call).get("name")) is None:
            return {"content": [parts.opaque("chat-export/function_call", text)]}
        arguments = call.get("arguments", {})
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        function = {"name": call["name"], "arguments": arguments}
        calls.append({"id": None, "type": "function", "function": function})
    return {"content": None, "tool_calls": calls}


def _tools(value: Any) -> list[Mapping[str, Any]] | None:
    """Return tool definitions, in OpenAI's form or bare, as JSON or its text; ``None``: none."""
    value = _parsed(value) if isinstance(value, str) else value
    tools = []
    for tool in value if isinstance(value, list) else ():
        bare = isinstance(tool, dict) and "name" in tool and "function" not in tool
        tools.append({"type": "function", "function": tool} if bare else tool)
    return tools if tools and all(map(is_tool, tools)) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
