"""Secrets that a stream splits over its chunks: found in the assembled texts.

A chunk is a line with JSON (server-sent events, JSON Lines) or an element of a JSON list. The
strings that stand at the same place in all chunks are put together and scrubbed as one text; what
changes goes into the first chunk it touches, and out of the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.recording.scrubbing.json_text import is_json, replace_values, values

JSON_LINE = re.compile(r"^([ \t]*(?:data:)?[ \t]*)([{\[].*[}\]])([ \t\r]*)$", re.M)
TOLD_APART_BY = ("type", "index", "output_index", "content_index", "item_id")

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A string in a chunk: which text it is in, the how manieth string there, and what it is."""

    text: int
    number: int
    value: str


def rewrite(body: str, scrub: Callable[[str], str]) -> str:
    """Return a stream's body with the secrets replaced that its chunks split, and no others."""
    spans = _texts(body)
    groups: dict[Path, list[Piece]] = {}
    for index, (start, end) in enumerate(spans):
        for number, (path, value) in enumerate(_strings(body[start:end], whole=len(spans) == 1)):
            groups.setdefault(path, []).append(Piece(index, number, value))
    changes: dict[int, dict[int, str]] = {}
    for pieces in groups.values():
        if len({piece.value for piece in pieces}) > 1:
            joined = "".join(piece.value for piece in pieces)
            new = scrub(joined)
            if new != joined and new != "".join(scrub(piece.value) for piece in pieces):
                _distribute(pieces, joined, new, changes=changes)
    for index in sorted(changes, reverse=True):
        start, end = spans[index]
        body = body[:start] + replace_values(body[start:end], changes[index]) + body[end:]
    return body


def _texts(body: str) -> list[tuple[int, int]]:
    """Return where a body's JSON texts stand: all of it, or some of its lines."""
    if is_json(body):
        return [(0, len(body))]
    matches = [match for match in JSON_LINE.finditer(body) if is_json(match[2])]
    return [match.span(2) for match in matches] if len(matches) > 1 else []


def _strings(text: str, *, whole: bool) -> Iterator[tuple[Path, str]]:
    """Yield each string of a JSON text with its place, in order; none where keys repeat."""
    value = json.loads(text)
    if whole and not isinstance(value, list):
        return
    chunks = value if whole else [value]
    found = [leaf for chunk in chunks for leaf in _leaves(chunk, _told_apart(chunk))]
    if [string for _, string in found] == [string for string, _ in values(text)]:
        yield from found


def _told_apart(chunk: Any) -> Path:
    known = chunk if isinstance(chunk, dict) else {}
    told = (known.get(key) for key in TOLD_APART_BY)
    return tuple(value if isinstance(value, str | int) else None for value in told)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            index = inner.get("index") if isinstance(inner, dict) else None
            yield from _leaves(inner, (*path, index if isinstance(index, int) else number))


def _distribute(
    pieces: list[Piece], joined: str, new: str, *, changes: dict[int, dict[int, str]]
) -> None:
    """Put a changed text back into its pieces."""
    shorter = min(len(joined), len(new))
    first = next((i for i in range(shorter) if joined[i] != new[i]), shorter)
    after = next((i for i in range(shorter - first) if joined[-1 - i] != new[-1 - i]), None)
    last = len(joined) - (shorter - first if after is None else after)
    middle = new[first : len(new) - (len(joined) - last)]
    at = 0
    for piece in pieces:
        start, end = at, at + len(piece.value)
        at = end
        if end < first or start > last or (end == first and end < len(joined)):
            continue
        kept = piece.value[: max(first - start, 0)], piece.value[max(last - start, 0) :]
        changes.setdefault(piece.text, {})[piece.number] = middle.join(kept)
        middle = ""
