"""Messages as contents of Gemini's API, and back."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    arguments,
    call_names,
    groups,
    image_url,
    object_call,
    part_text,
    parts_of,
    plain_text,
)
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls

RESULT = "result"  # the key the framework itself puts a plain result under
DATA = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def contents(
    types: ModuleType, messages: Sequence[Message], *, start: int
) -> Iterator[tuple[Any, range]]:
    """Yield the contents of messages; all results of a round are one content.

    Args:
        types: ``google.genai.types``.
        messages: the history.
        start: index of the first message to convert.
    """
    names = call_names(messages)
    for group in groups(messages, start):
        message = messages[group.start]
        if message.get("role") == "tool":
            made = [_response(types, messages[place], names) for place in group]
        else:
            made = [_part(types, part) for part in parts_of(message)]
            made += [types.Part(function_call=_call(types, call)) for call in tool_calls(message)]
        role = "model" if message.get("role") == "assistant" else "user"
        yield types.Content(role=role, parts=made), group


def back(content: Any) -> list[Message]:
    """Convert one content: its results are a message each, the rest is one."""
    results, calls, said = list[Message](), list[dict[str, Any]](), list[parts.Part]()
    for part in content.parts or ():
        if part.function_response is not None:
            results.append(_result(part.function_response))
        elif part.function_call is not None:
            call = part.function_call
            calls.append(
                object_call(call.id or "", call.name or UNNAMED, arguments=call.args or {})
            )
        else:
            said.append(_said(part))
    if results and not said:
        return results
    role = "assistant" if content.role == "model" else "user"
    spoken: Message = {"role": role, "content": parts.content(said)}
    return [*results, {**spoken, "tool_calls": calls} if calls else spoken]


def _part(types: ModuleType, part: parts.Part) -> Any:
    found = DATA.fullmatch(image_url(part) or "")
    if found is not None:
        try:
            data = base64.b64decode(found[2], validate=True)
        except ValueError:
            return types.Part(text=part_text(part))
        return types.Part(inline_data=types.Blob(mime_type=found[1], data=data))
    return types.Part(text=part_text(part))


def _call(types: ModuleType, call: Mapping[str, Any]) -> Any:
    name = (call.get("function") or {}).get("name") or UNNAMED
    return types.FunctionCall(id=str(call.get("id")), name=name, args=arguments(call))


def _response(types: ModuleType, message: Message, names: Mapping[Any, str]) -> Any:
    call_id = message.get("tool_call_id")
    response = types.FunctionResponse(
        id=str(call_id),
        name=message.get("name") or names.get(call_id, UNNAMED),
        response={"error" if message.get("is_error") else RESULT: plain_text(message)},
    )
    return types.Part(function_response=response)


def _result(response: Any) -> Message:
    values = list((response.response or {}).values())
    whole = len(values) == 1 and isinstance(values[0], str)
    text = values[0] if whole else json.dumps(response.response, ensure_ascii=False, default=str)
    return {"role": "tool", "tool_call_id": response.id, "content": text}


def _said(part: Any) -> parts.Part:
    if part.text is not None:
        return parts.text(part.text)
    if part.inline_data is not None and part.inline_data.data is not None:
        data = base64.b64encode(part.inline_data.data).decode()
        return parts.image(parts.data_url(part.inline_data.mime_type, data))
    return parts.opaque("gemini/part", part.model_dump(mode="json", exclude_none=True))
