"""Messages as events of AG2's stream, and back.

A tool round is several events there: the response, the calls together, each call, each result, the
results together. Policies count them all; a model is shown the response and the results together.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    call_names,
    function_call,
    groups,
    image_url,
    part_text,
    parts_of,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls

DATA = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
SUMMARY = "[Summary of earlier conversation]"  # as the framework sends it, a user message


def ag2_events() -> ModuleType:
    """Import the framework's events, or say that it is missing."""
    return require("ag2.events", adapter="ag2", pip="ag2>=1.2")


def events(messages: Sequence[Message], start: int) -> Iterator[tuple[Any, Sequence[int]]]:
    """Yield the events of the messages from ``start`` on.

    Those that a model is shown have the indices of the messages they were made from.
    """
    kinds, names = ag2_events(), call_names(messages)
    for group in groups(messages, start):
        message = messages[group.start]
        if message.get("role") == "tool":
            results = [_result(kinds, messages[place], names) for place in group]
            yield from ((result, ()) for result in results)
            yield kinds.ToolResultsEvent(results=results), group
        elif message.get("role") == "assistant":
            yield from _response(kinds, message, group)
        else:
            yield kinds.ModelRequest([_input(kinds, p) for p in parts_of(message)]), group


def _response(
    kinds: ModuleType, message: Message, group: range
) -> Iterator[tuple[Any, Sequence[int]]]:
    calls = [_call(kinds, call) for call in tool_calls(message)]
    text = "".join(part_text(part) for part in parts_of(message))
    together = kinds.ToolCallsEvent(calls=calls)
    said = kinds.ModelMessage(content=text) if text else None
    yield kinds.ModelResponse(message=said, tool_calls=together), group
    if calls:
        yield together, ()
        yield from ((call, ()) for call in calls)


def _call(kinds: ModuleType, call: Mapping[str, Any]) -> Any:
    function = call.get("function") or {}
    return kinds.ToolCallEvent(
        id=str(call.get("id")),
        name=function.get("name") or UNNAMED,
        arguments=function.get("arguments") or "",
    )


def _result(kinds: ModuleType, message: Message, names: Mapping[Any, str]) -> Any:
    call_id = message.get("tool_call_id")
    return kinds.ToolResultEvent(
        parent_id=str(call_id),
        name=message.get("name") or names.get(call_id, UNNAMED),
        result=kinds.ToolResult(parts=[_input(kinds, part) for part in parts_of(message)]),
    )


def _input(kinds: ModuleType, part: parts.Part) -> Any:
    url = image_url(part)
    if url is None:
        return kinds.TextInput(part_text(part))
    found = DATA.fullmatch(url)
    if found is None:
        return kinds.UrlInput(url, kind=kinds.BinaryType.IMAGE)
    try:
        data = base64.b64decode(found[2], validate=True)
    except ValueError:
        return kinds.TextInput(part_text(part))
    return kinds.BinaryInput(data, media_type=found[1], kind=kinds.BinaryType.IMAGE)


def back(event: Any) -> list[Message]:
    """Convert what a model is shown of one event: most are for the stream alone."""
    kinds = ag2_events()
    if isinstance(event, kinds.ModelRequest):
        return [{"role": "user", "content": _content(event.parts)}]
    if isinstance(event, kinds.ModelResponse):
        text = event.message.content if event.message is not None else None
        calls = [function_call(c.id, c.name, arguments=c.arguments) for c in event.tool_calls.calls]
        spoken: Message = {"role": "assistant", "content": text}
        return [{**spoken, "tool_calls": calls} if calls else spoken]
    if isinstance(event, kinds.ToolResultsEvent):
        return [
            {"role": "tool", "tool_call_id": r.parent_id, "content": _content(r.result.parts)}
            for r in event.results
        ]
    if hasattr(event, "summary") and isinstance(event, kinds.BaseEvent):
        return [{"role": "user", "content": f"{SUMMARY}\n{event.summary}"}]
    if isinstance(event, kinds.BaseEvent):
        return []
    raise unknown(event, adapter="ag2")


def _content(inputs: Sequence[Any]) -> str | list[parts.Part]:
    content = parts.content([_part(each) for each in inputs])
    return "" if content is None else content


def _part(given: Any) -> parts.Part:
    kinds = ag2_events()
    if isinstance(given, kinds.TextInput):
        return parts.text(given.content)
    if isinstance(given, kinds.UrlInput):
        return parts.image(given.url)
    if isinstance(given, kinds.BinaryInput):
        return parts.image(
            parts.data_url(str(given.media_type), base64.b64encode(given.data).decode())
        )
    return parts.opaque(f"ag2/{type(given).__name__}", repr(given))
