"""Read a cassette's YAML into plain values: no tag makes an object, no alias makes a bomb.

The parser's events are read one by one, so nesting costs no stack and each interaction's line is
known. vcrpy writes scalars, lists and mappings, ``!!binary``, and in older versions five tags of
Python's own; each is read as the text, bytes or list that it stands for. A key is always text, as
in JSON, and a date stays the text it was.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document

Construct = Callable[[yaml.ScalarNode], Any]

DEPTH = 200  # levels of nesting; a tool's schema in a parsed body has some 20
GROWTH = 10  # times its size that aliases may expand a file to
PREFIX = "tag:yaml.org,2002:"
TEXT = ("str", "timestamp", "python/str", "python/unicode")
PLAIN = ("null", "bool", "int", "float")
SEQUENCES = ("seq", "python/tuple")
MAPPINGS = ("map",)
BYTES_IO = "python/object/new:_io.BytesIO"  # a body that was a file
ITERATOR = "python/object/apply:builtins.iter"  # a body in pieces
PIECES = {BYTES_IO: "state", ITERATOR: "args"}  # where the bytes are


def parse(document: Document) -> tuple[Any, tuple[int, ...]]:
    """Return a YAML file's value, and the line of each item of its list ``interactions``.

    Raises:
        TranscriptError: it is not YAML, has a tag that cassettes do not need, a key twice, or
            aliases that expand it without end.
    """
    builder = _Builder(document)
    try:
        for event in _events(document.text):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(document, error) from error
    except yaml.reader.ReaderError as error:
        line = document.text[: error.position].count("\n") + 1
        raise document.fail(f"not YAML ({error.reason}). Mend or remove it.", line) from error
    return builder.value, tuple(builder.lines)


def _events(text: str) -> Iterator[yaml.Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is some 10 times as fast
    return yaml.parse(text, Loader=loader)


def _not_yaml(document: Document, error: yaml.MarkedYAMLError) -> TranscriptError:
    cut = "unexpected end" in str(error.problem)
    mark = (error.context_mark if cut else error.problem_mark) or error.problem_mark
    what = f"{error.context}: {error.problem}" if error.context else str(error.problem)
    remedy = "The file may be truncated." if cut else "Mend it, or record it again."
    return document.fail(f"not YAML ({what}). {remedy}", mark.line + 1 if mark else None)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


@dataclass(slots=True)
class _Open:
    """A list or mapping that is being filled."""

    value: dict[str, Any] | list[Any]
    tag: str
    line: int
    anchor: str | None
    size_before: int
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    """Puts values together from events; ``lines`` are those of the interactions."""

    document: Document
    value: Any = None
    lines: list[int] = field(default_factory=list)
    _stack: list[_Open] = field(default_factory=list)
    _anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    _resolver: yaml.resolver.Resolver = field(default_factory=yaml.resolver.Resolver)
    _constructor: yaml.constructor.SafeConstructor = field(
        default_factory=yaml.constructor.SafeConstructor
    )
    _size: int = 0
    _documents: int = 0

    def take(self, event: yaml.Event) -> None:
        """Go on by one event."""
        if len(self._stack) == 2 and self._stack[0].key == "interactions":
            begins = not isinstance(event, yaml.CollectionEndEvent)
            self.lines += [_line(event)] if begins else []
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._fail("a second YAML document; a cassette is one", event)

    def _fail(
        self, what: str, event: yaml.Event | int, remedy: str = "Mend it, or record it again."
    ) -> TranscriptError:
        line = event if isinstance(event, int) else _line(event)
        return self.document.fail(f"{what}. {remedy}", line)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._grow(1 + len(event.value), event)
        if self._awaits_key():
            self._name(event)
            return
        before = self._size - 1 - len(event.value)
        value = event.value if event.implicit[1] else self._resolved(event)
        self._put(value)
        self._remember(event.anchor, value, before)

    def _resolved(self, event: yaml.ScalarEvent) -> Any:
        """Return the value of a scalar that is tagged, or plain."""
        tag = event.tag
        if tag is None or tag == "!":
            resolve: Callable[..., str] = self._resolver.resolve
            tag = resolve(yaml.ScalarNode, event.value, event.implicit)
        kind = tag.removeprefix(PREFIX)
        if kind in TEXT:
            return event.value
        try:
            if kind == "binary":
                return base64.b64decode("".join(event.value.split()), validate=True)
            if kind in PLAIN:
                construct: Construct = getattr(self._constructor, f"construct_yaml_{kind}")
                return construct(yaml.ScalarNode(tag, event.value))
        except (ValueError, KeyError) as error:
            raise self._fail(f"not {kind}: {event.value[:40]!r}", event) from error
        raise self._unknown(tag, event)

    def _unknown(self, tag: str, event: yaml.Event) -> TranscriptError:
        shown = tag.replace(PREFIX, "!!")
        what = f"tag {shown!r} is not read: it could stand for any Python object"
        return self._fail(what, event, "Leave the tag out, or record the cassette again.")

    def _awaits_key(self) -> bool:
        return (
            bool(self._stack)
            and isinstance(self._stack[-1].value, dict)
            and (self._stack[-1].key is None)
        )

    def _name(self, event: yaml.ScalarEvent) -> None:
        top = self._stack[-1]
        if event.value in top.value:
            raise self._fail(f"a second {event.value!r} in one mapping", event, "Remove one.")
        if event.value == "<<" and event.implicit[0]:
            raise self._fail("merge keys (`<<`) are not read", event, "Write the keys out.")
        top.key = event.value
        self._remember(event.anchor, event.value, self._size - 1 - len(event.value))

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        if self._awaits_key():
            raise self._fail("a key that is a list or mapping; a key is text", event)
        if len(self._stack) >= DEPTH:
            raise self._fail(f"nested deeper than {DEPTH} levels", event)
        mapping = isinstance(event, yaml.MappingStartEvent)
        tag = (event.tag or "").removeprefix(PREFIX)
        known = (*MAPPINGS, *PIECES) if mapping else SEQUENCES
        if tag not in ("", "!", *known):
            raise self._unknown(event.tag or "", event)
        opened: dict[str, Any] | list[Any] = {} if mapping else []
        self._stack.append(_Open(opened, tag, _line(event), event.anchor, self._size))
        self._grow(1, event)

    def _close(self) -> None:
        done = self._stack.pop()
        value: Any = done.value
        if isinstance(value, dict) and done.tag in PIECES:
            value = self._bytes(value.get(PIECES[done.tag]), done)
        self._put(value)
        self._remember(done.anchor, value, done.size_before)

    def _bytes(self, held: Any, done: _Open) -> bytes:
        """Return the bytes of a body that was recorded as a Python file or iterator."""
        first = held[0] if isinstance(held, list) and held else None
        pieces = first if done.tag == ITERATOR else [first]  # after the bytes comes the position
        if not isinstance(pieces, list) or not all(isinstance(p, bytes | str) for p in pieces):
            raise self._fail(f"tag '!!{done.tag}' without the bytes it is to hold", done.line)
        return b"".join(p.encode() if isinstance(p, str) else p for p in pieces)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise self._fail(
                f"alias {event.anchor!r} stands for nothing before it, or for what it is part of",
                event,
            )
        if self._awaits_key():
            raise self._fail("a key that is an alias; a key is text", event)
        value, size = self._anchors[event.anchor]
        self._grow(size, event)
        self._put(value)

    def _remember(self, anchor: str | None, value: Any, size_before: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = value, self._size - size_before

    def _grow(self, by: int, event: yaml.Event) -> None:
        self._size += by
        if self._size > GROWTH * (len(self.document.data) + 1000):
            raise self._fail(f"aliases expand the file to more than {GROWTH} times its size", event)

    def _put(self, value: Any) -> None:
        if not self._stack:
            self.value = value
            return
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        else:
            top.value[str(top.key)] = value  # a value has its key: see `_awaits_key`
            top.key = None
