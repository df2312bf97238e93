"""A request as a provider's cache sees it: sections in order, parts, content blocks, cache marks.

Cache marks (``cache_control``) are no part of the text; they are kept beside it. The keys of a
message, a part and a tool call are read by name, so that their order is no difference; within
arguments and schemas the order is text of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from pytest_ctxguard.tokens.buckets import Tools
from pytest_ctxguard.transcript.messages import Message, instructions

Section = Literal["tools", "system", "messages"]
SECTIONS: tuple[Section, ...] = ("tools", "system", "messages")
MARK = "cache_control"
ENVELOPE = ("role", "type", "id", "tool_call_id", "name", "function", "content", "text")
"""Keys that are read by name, in the order in which they are written here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request, with what a cache depends on besides its text.

    Attributes:
        messages: OpenAI-format messages; instructions lead.
        tools: OpenAI-format tool definitions.
        answer: the assistant message that came back; ``None``: unknown.
        tokens: exact size of the request; 0: not counted yet.
        model: the model's name; another one has another cache.
        settings: what else was sent (``tool_choice``, ``thinking``, …).
        at: when, in seconds; ``None``: unknown.
        output: tokens of the answer.
        session: requests with the same one are of one session, however little they have in common;
            ``None``: the texts decide.
        marks: indices of the messages that had a cache mark, where others have it here; ``None``:
            those that have one here.
    """

    messages: tuple[Message, ...]
    tools: Tools = ()
    answer: Message | None = None
    tokens: int = 0
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    at: float | None = None
    output: int = 0
    session: int | None = None
    marks: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A content block, the unit in which providers count their look-back.

    Attributes:
        text: serialised, with the role.
        marked: whether the client asked for a cache entry that ends here.
    """

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A tool definition or a message.

    Attributes:
        section: where it stands.
        index: its place among the tools, or among the messages.
        value: the JSON value, cache marks left out.
        text: that value, serialised.
        blocks: its content blocks.
    """

    section: Section
    index: int
    value: Mapping[str, Any]
    text: str
    blocks: tuple[Block, ...]


class Parts:
    """Splits requests into parts; a message object seen before is not serialised again."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Section, int], tuple[object, Part]] = {}

    def of(self, sent: Sent, *, order: Sequence[Section] = SECTIONS) -> tuple[Part, ...]:
        """Return the parts of a request in a provider's order."""
        lead = instructions(sent.messages)
        by_section = {
            "tools": [self._part(tool, "tools", i) for i, tool in enumerate(sent.tools)],
            "system": [self._part(m, "system", i) for i, m in enumerate(sent.messages[:lead])],
            "messages": [
                self._part(m, "messages", i) for i, m in enumerate(sent.messages[lead:], lead)
            ],
        }
        return tuple(part for section in order for part in by_section[section])

    def _part(self, value: Mapping[str, Any], section: Section, index: int) -> Part:
        key = (id(value), section, index)
        known = self._known.get(key)
        if known is None or known[0] is not value:
            known = self._known[key] = (value, _part(value, section, index))
        return known[1]


def serialised(parts: Sequence[Part]) -> str:
    """Return a request's parts as one JSON text, in their order."""
    pieces = []
    for key, run in groupby(parts, key=lambda p: "tools" if p.section == "tools" else "messages"):
        pieces.append(f'"{key}": [' + ", ".join(part.text for part in run) + "]")
    if not any(part.section == "tools" for part in parts):
        pieces.insert(0, '"tools": []')
    return "{" + ", ".join(pieces) + "}"


def as_json(value: Any) -> str:
    """Return a JSON value as text; the order of keys is kept."""
    return json.dumps(value, ensure_ascii=False, default=str)


def has_images(messages: Sequence[Message]) -> bool:
    """Tell whether a message has a content part that is an image."""
    return any(
        isinstance(part, Mapping) and str(part.get("type")) in ("image", "image_url", "input_image")
        for message in messages
        if isinstance(content := message.get("content"), list)
        for part in content
    )


def _part(value: Mapping[str, Any], section: Section, index: int) -> Part:
    shown = bare(value)
    if section == "tools":
        marked = MARK in value or MARK in (value.get("function") or {})
        return Part(section, index, shown, text := as_json(shown), (Block(text, marked),))
    blocks = list(_blocks(value))
    if MARK in value and blocks:  # on the message itself: its last block
        blocks[-1] = Block(blocks[-1].text, True)
    return Part(section, index, shown, as_json(shown), tuple(blocks))


def _blocks(message: Message) -> Iterator[Block]:
    """Yield a message's blocks: each part of its content, each tool call, each other list's item.

    A tool result is one block, whatever it is made of.
    """
    role = str(message.get("role"))
    if role == "tool":
        marks = [part for part in _items(message.get("content")) if MARK in part]
        yield Block(as_json(bare(message)), bool(marks))
        return
    values: list[Any] = []
    for key, value in message.items():
        if key not in ("role", MARK) and value not in (None, "", []):
            values += value if isinstance(value, list) else [{"type": key, "text": value}]
    for value in values or [{}]:
        marked = isinstance(value, Mapping) and MARK in value
        yield Block(f"{role} {as_json(bare(value))}", marked)


def _items(content: Any) -> list[Mapping[str, Any]]:
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, Mapping)]


def bare(value: Any) -> Any:
    """Return a message, part or tool call without marks, the keys of its envelope in one order."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if not ("role" in value or "type" in value):
        return value  # arguments or a schema: text of the prompt
    first = [key for key in ENVELOPE if key in value]
    rest = sorted(key for key in value if key not in ENVELOPE and key != MARK)
    return {key: _inner(key, value[key]) for key in (*first, *rest)}


def _inner(key: str, value: Any) -> Any:
    if key == "function" and isinstance(value, Mapping):
        return {name: value[name] for name in value if name != MARK}
    return bare(value) if key in ("content", "tool_calls") else value
