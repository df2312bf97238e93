"""ChatGPT's data export: each chat a tree of messages, of which one branch is the current one.

Messages to a tool are calls, whose id is the message's own; the message after one, from a tool,
is its result. Input that is no JSON object is kept as ``{"input": …}``, as arguments must be JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers.checked import name
from pytest_ctxguard.transcript.reading import count
from pytest_ctxguard.transcript.wire.typed import mapping

Node = Mapping[str, Any]


def path_of(document: Document, chat: Node, *, where: str, line: int | None) -> Sequence[Node]:
    """Return the messages from the root to the current one.

    Raises:
        TranscriptError: the tree is broken; the message says where.
    """
    nodes = chat["mapping"]
    if not isinstance(nodes, dict):
        raise document.fail(f"`{where}.mapping` must be an object. Export the chat again.", line)
    found: list[Node] = []
    at, seen = chat["current_node"], set()
    while at is not None:
        if not isinstance(at, str) or at in seen or not isinstance(nodes.get(at), dict):
            raise document.fail(
                f"`{where}` leads to the node {at!r}, which is "
                f"{'there twice' if isinstance(at, str) and at in seen else 'not in `mapping`'}. "
                "Export the chat again.",
                line,
            )
        seen.add(at)
        message = nodes[at].get("message")
        if message is not None:
            role = mapping(mapping(message).get("author")).get("role")
            if role not in ("system", "user", "assistant", "tool"):
                raise document.fail(
                    f"`{where}.mapping[{at!r}].message` needs an `author.role`: system, user, "
                    "assistant or tool. Export the chat again.",
                    line,
                )
            found.append(message)
        at = nodes[at].get("parent")
    return found[::-1]


def read_chat(
    builder: Builder, path: Sequence[Node], chat: Node, passed_over: dict[str, int]
) -> None:
    """Add the messages of the current branch; the others are counted and noted."""
    held = sum(mapping(node).get("message") is not None for node in chat["mapping"].values())
    if held > len(path):
        passed_over["message on another branch"] = (
            passed_over.get("message on another branch", 0) + held - len(path)
        )
        builder.note(
            f"messages on other branches than the current one: {held - len(path)} (edited or asked "
            "again); they are not read"
        )
    called: str | None = None
    thoughts: list[str] = []
    for item in path:
        if item.get("weight") == 0:  # not shown to the model
            count(passed_over, "message of weight 0")
            continue
        content, role = mapping(item.get("content")), item["author"]["role"]
        kind = content.get("content_type")
        if kind == "thoughts" and role == "assistant":
            thoughts += _thoughts(content)
            continue
        if kind == "reasoning_recap":
            count(passed_over, "reasoning_recap")
            continue
        message: dict[str, Any] = {"role": role, "content": _content(content)}
        if role == "tool":
            message["tool_call_id"] = called
            if name(item["author"].get("name")):
                message["name"] = item["author"]["name"]
        called = None
        if role == "assistant":
            if thoughts:
                message["reasoning_content"] = "\n".join(thoughts)
                thoughts = []
            called = _call(message, item, content)
        builder.add(message, call=_facts(item) if role == "assistant" else None)
    if thoughts:
        message = {"role": "assistant", "content": None, "reasoning_content": "\n".join(thoughts)}
        builder.add(message)


def _call(message: dict[str, Any], item: Node, content: Node) -> str | None:
    """Make a call of a message to a tool; return its id."""
    recipient, call_id = item.get("recipient"), name(item.get("id"))
    if recipient in (None, "all") or not isinstance(recipient, str):
        return None
    text = content.get("text")
    if not isinstance(text, str):
        text = message["content"] if isinstance(message["content"], str) else ""
    function = {"name": recipient, "arguments": _arguments(text)}
    if isinstance(message["content"], str):
        message["content"] = None
    message["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    return call_id


def _arguments(text: str) -> str:
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"input": text}, ensure_ascii=False)


def _content(content: Node) -> Any:
    kind = content.get("content_type")
    if isinstance(content.get("text"), str):
        return content["text"]
    given = content.get("parts")
    if kind not in ("text", "multimodal_text") or not isinstance(given, list):
        return [parts.opaque(f"chatgpt/{kind}", dict(content))] if content else None
    found = [
        parts.text(part)
        if isinstance(part, str)
        else parts.opaque(f"chatgpt/{mapping(part).get('content_type')}", part)
        for part in given
    ]
    return parts.content(found)


def _thoughts(content: Node) -> list[str]:
    given = content.get("thoughts")
    listed = given if isinstance(given, list) else []
    texts = [mapping(t).get("content") or mapping(t).get("summary") for t in listed]
    return [text for text in texts if isinstance(text, str)]


def _facts(item: Node) -> dict[str, Any]:
    details, at = mapping(item.get("metadata")), item.get("create_time")
    time = None
    if isinstance(at, int | float) and 0 < at < 2**35:
        time = datetime.fromtimestamp(at, UTC).isoformat()
    facts = {
        "model": name(details.get("model_slug")),
        "finish_reason": name(mapping(details.get("finish_details")).get("type")),
        "time": time,
    }
    return {key: value for key, value in facts.items() if value is not None}
