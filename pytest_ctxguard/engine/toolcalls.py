"""Find tool calls in what the model wrote.

The Coder weights call tools in two forms: tagged, ``<tool_call>{…}</tool_call>`` as the template
asks, and far more often as bare JSON objects at the start of a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.backend import ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
REQUIRED_OPENING = '\n{"name": "'  # what follows the open tag when a call is required

OBJECT_START = re.compile(r"^[ \t]*(?:<tool_call>\s*)?(?=\{)|<tool_call>\s*(?=\{)", re.MULTILINE)
TAG_END = re.compile(r"\s*</tool_call>")
FENCE_OPEN = re.compile(r"```\w*\s*\Z")
FENCE_CLOSE = re.compile(r"\s*```")


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer taken apart: the calls in order, and the text without them."""

    text: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A whole object where a call may stand: ``text[start:end]``; ``call`` is None if it is none.

    ``start`` counts the white space and the tag before the object, ``end`` the tag after a call.
    """

    start: int
    end: int
    call: ToolCall | None


def parse(text: str, *, tools: Collection[str]) -> Parsed:
    """Take the tool calls out of an answer.

    A tagged object with a name is a call, whatever the name. A bare one is a call if it has
    exactly ``name`` and ``arguments``, or names one of the tools. Anything else, broken JSON
    included, stays text. With the calls go the code fences around them and the white space
    after the text; the text before the first call keeps its beginning, which a watcher may have
    been told already.
    """
    parts, calls = [], []
    position = 0
    for found in find_objects(text, tools=tools):
        if found.call is not None:
            parts.append(text[position : found.start])
            calls.append(found.call)
            position = found.end
    parts.append(text[position:])
    if not calls:
        return Parsed(text=text, calls=())
    rest = "".join(_unfenced(parts)).rstrip()
    return Parsed(text=rest if parts[0].strip() else rest.lstrip(), calls=tuple(calls))


def find_objects(text: str, *, tools: Collection[str], start: int = 0) -> Iterator[Found]:
    """Yield the whole objects that stand where a call may stand, up to the first unfinished one."""
    while match := OBJECT_START.search(text, start):
        end = balanced_end(text, match.end())
        if end is None:
            return
        tagged = OPEN in match.group()
        call = _as_call(text[match.end() : end], tagged=tagged, tools=tools)
        close = TAG_END.match(text, end) if tagged and call else None
        start = close.end() if close else end
        yield Found(match.start(), start, call)


def _unfenced(parts: Sequence[str]) -> list[str]:
    """Remove code fences that hold nothing but calls; the calls stood between the parts."""
    kept = list(parts)
    for index in range(len(kept) - 1):
        opening = FENCE_OPEN.search(kept[index])
        after = next((i for i in range(index + 1, len(parts)) if kept[i].strip()), None)
        closing = FENCE_CLOSE.match(kept[after]) if after is not None else None
        if opening and after is not None and closing:
            kept[index] = kept[index][: opening.start()]
            kept[after] = kept[after][closing.end() :]
    return kept


def required_opening(tools: Sequence[str]) -> str:
    """Return what follows the open tag when a call is required; it names an only tool.

    It ends before a space, so that the model goes on with the token it would itself have put.
    """
    return REQUIRED_OPENING if len(tools) != 1 else f'\n{{"name": {_text(tools[0])}, "arguments":'


def parse_required(reply: str, *, opening: str = REQUIRED_OPENING) -> ToolCall | None:
    """Read the call of a reply that was opened for the model; None if it is not whole JSON."""
    text = opening.lstrip() + reply
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
    except (ValueError, RecursionError):
        return None
    name = data.get("name")
    if not isinstance(name, str):
        return None
    if not (tagged or data.keys() == {"name", "arguments"} or name in tools):
        return None
    arguments = data.get("arguments", {})
    return ToolCall(
        name=name, arguments=arguments if isinstance(arguments, str) else _text(arguments)
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
