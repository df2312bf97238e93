"""Find tool calls in what the model wrote.

The Coder weights call tools in two forms: tagged, ``<tool_call>{…}</tool_call>`` as the template
asks, and far more often as bare JSON objects at the start of a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.backend import ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
REQUIRED_OPENING = '\n{"name": "'  # what follows the open tag when a call is required

OBJECT_START = re.compile(r"^[ \t]*(?:<tool_call>\s*)?(?=\{)|<tool_call>\s*(?=\{)", re.MULTILINE)
TAG_END = re.compile(r"\s*</tool_call>")
EMPTY_FENCE = re.compile(r"```\w*\s*```")


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer taken apart: the calls in order, and the text without them."""

    text: str
    calls: tuple[ToolCall, ...]


def parse(text: str, *, tools: Collection[str]) -> Parsed:
    """Take the tool calls out of an answer.

    A tagged object with a name is a call, whatever the name. A bare one is a call if it has
    exactly ``name`` and ``arguments``, or names one of the tools. Anything else, broken JSON
    included, stays text.
    """
    calls: list[ToolCall] = []
    kept: list[str] = []
    position = 0
    while match := OBJECT_START.search(text, position):
        end = balanced_end(text, match.end())
        if end is None:
            break
        tagged = OPEN in match.group()
        call = _as_call(text[match.end() : end], tagged=tagged, tools=tools)
        if call is None:
            kept.append(text[position:end])
        else:
            calls.append(call)
            kept.append(text[position : match.start()])
            close = TAG_END.match(text, end)
            end = close.end() if tagged and close else end
        position = end
    kept.append(text[position:])
    rest = "".join(kept)
    if calls:
        rest = EMPTY_FENCE.sub("", rest).strip()
    return Parsed(text=rest, calls=tuple(calls))


def parse_required(reply: str) -> ToolCall | None:
    """Read the call of a reply that was opened for the model; None if it is not whole JSON."""
    text = REQUIRED_OPENING.lstrip() + reply
    end = balanced_end(text, 0)
    return None if end is None else _as_call(text[:end], tagged=True, tools=())


def balanced_end(text: str, start: int) -> int | None:
    """Return where the object that opens at ``start`` closes, or None; strings are skipped."""
    depth, in_string, escaped = 0, False, False
    for index in range(start, len(text)):
        character = text[index]
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return index + 1
    return None


def _as_call(text: str, *, tagged: bool, tools: Collection[str]) -> ToolCall | None:
    try:
        data: Any = json.loads(text, strict=False)  # models write raw newlines into strings
    except ValueError:
        return None
    name = data.get("name")
    if not isinstance(name, str):
        return None
    if not (tagged or data.keys() == {"name", "arguments"} or name in tools):
        return None
    arguments = data.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(name=name, arguments=arguments)
