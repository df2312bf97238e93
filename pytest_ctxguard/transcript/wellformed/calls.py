"""Single tool calls and tool definitions: ids, names, arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed.rule import Found, Tools
from pytest_ctxguard.transcript.wellformed.values import calls, get, text_of

OWN = ("anthropic", "bedrock", "gemini")  # keys of a provider's own tools, which have no function


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a provider takes.

    Attributes:
        name: what names of functions match.
        name_length: how long they may be.
        id: what ids of calls match, or ``None`` for anything.
        id_length: how long they may be, or ``None`` for any length.
        object_arguments: whether arguments must be an object; else any JSON will do.
        type_needed: whether a call's ``type`` is sent.
    """

    name: re.Pattern[str]
    name_length: int
    id: re.Pattern[str] | None = None
    id_length: int | None = None
    object_arguments: bool = True
    type_needed: bool = False


def of_message(index: int, message: Message, *, limits: Limits) -> Iterator[Found]:
    """Find what is wrong with the calls of a message.

    Rules: ``empty-tool-calls``, ``missing-call-id``, ``missing-call-type``, ``call-id-pattern``,
    ``call-id-length``, ``function-name``, ``arguments-type``, ``arguments-json``,
    ``arguments-object``.
    """
    given = message.get("tool_calls")
    if given is None:
        return
    if not calls(message):
        variant = "array" if isinstance(given, list) else ""
        what, fields = f"tool_calls is {given!r}", {"place": f"messages[{index}].tool_calls"}
        yield Found("empty-tool-calls", index, what, variant, fields=fields)
    for number, call in enumerate(calls(message)):
        yield from _call(index, number, call=call, limits=limits)


def of_tools(tools: Tools, limits: Limits) -> Iterator[Found]:
    """Find names of tool definitions that are refused (``function-name``)."""
    for number, tool in enumerate(tools):
        if get(tool, "type") == "function" and not any(get(tool, key) for key in OWN):
            name = get(get(tool, "function"), "name")
            fields = {"place": f"tools[{number}].function.name", "number": number}
            yield from _name(None, name, limits=limits, kind="tool", fields=fields)


def repeated_names(tools: Tools) -> Iterator[Found]:
    """Find tool definitions that share a name (``duplicate-tool-name``)."""
    names = [text_of(get(get(tool, "function"), "name")) for tool in tools]
    for name in dict.fromkeys(filter(None, names)):
        if names.count(name) > 1:
            what = f"{names.count(name)} tools are named {name!r}"
            yield Found("duplicate-tool-name", None, what, fields={"name": name})


def _call(index: int, number: int, *, call: Any, limits: Limits) -> Iterator[Found]:
    place = f"messages[{index}].tool_calls[{number}]"
    for key in ("id", "type") if limits.type_needed else ("id",):
        if not get(call, key):
            what = f"{place} has no {key}"
            yield Found(f"missing-call-{key}", index, what, fields={"place": place})
    yield from _id(index, number, call_id=text_of(get(call, "id")), limits=limits)
    if get(call, "type") not in (None, "function"):
        return
    function = get(call, "function")
    fields = {"place": f"{place}.function.name"}
    yield from _name(index, get(function, "name"), limits=limits, kind="call", fields=fields)
    yield from _arguments(index, number, arguments=get(function, "arguments"), limits=limits)


def _id(index: int, number: int, *, call_id: str, limits: Limits) -> Iterator[Found]:
    what = f"messages[{index}].tool_calls[{number}].id is {call_id!r}"
    fields = {"length": len(call_id)}
    if call_id and limits.id and not limits.id.fullmatch(call_id):
        yield Found("call-id-pattern", index, what, call=number, fields=fields)
    if limits.id_length and len(call_id) > limits.id_length:
        yield Found("call-id-length", index, what, call=number, fields=fields)


def _name(
    index: int | None, name: Any, *, limits: Limits, kind: str, fields: Mapping[str, object]
) -> Iterator[Found]:
    """Judge a name; variants are ``<kind>-empty``, ``<kind>-long``, ``<kind>-pattern``, or ""."""
    if not isinstance(name, str):
        variant = ""
    elif len(name) > limits.name_length:
        variant = f"{kind}-long"
    elif not limits.name.fullmatch(name):
        variant = f"{kind}-pattern" if name else f"{kind}-empty"
    else:
        return
    what = f"{fields['place']} is {name!r}"
    length = len(name) if isinstance(name, str) else 0
    yield Found("function-name", index, what, variant, fields={**fields, "length": length})


def _arguments(index: int, number: int, *, arguments: Any, limits: Limits) -> Iterator[Found]:
    place = f"messages[{index}].tool_calls[{number}].function.arguments"
    if not isinstance(arguments, str):
        what = f"{place} is a {type(arguments).__name__}"
        variant = "object" if isinstance(arguments, Mapping) else ""
        yield Found("arguments-type", index, what, variant, fields={"place": place})
        return
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        yield Found("arguments-json", index, f"{place} is not JSON: {arguments[:60]!r}")
        return
    if limits.object_arguments and not isinstance(value, dict):
        what = f"{place} is no object: {arguments[:60]!r}"
        yield Found("arguments-object", index, what, call=number)
