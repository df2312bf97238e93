"""Marks for a prompt cache, of which a provider takes only so many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed.rule import Found, Tools
from pytest_ctxguard.transcript.wellformed.values import calls, get, is_list

MOST = 4


def too_many(messages: Sequence[Message], tools: Tools) -> Iterator[Found]:
    """Find more marks than a request may have (``cache-marks``).

    ``cache_control`` counts on tool definitions, messages, parts of content and tool calls.
    """
    count = sum(_marked(tool) or _marked(get(tool, "function")) for tool in tools)
    for message in messages:
        content = message.get("content")
        parts = content if is_list(content) else ()
        count += sum(map(_marked, [message, *parts, *calls(message)]))
    if count > MOST:
        what = f"{count} cache marks over tools, instructions and messages"
        yield Found("cache-marks", None, what, fields={"count": count})


def _marked(value: Any) -> bool:
    return bool(get(value, "cache_control"))
