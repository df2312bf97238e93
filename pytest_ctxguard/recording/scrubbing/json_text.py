"""Change strings of JSON text, and leave every other byte of it alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

LITERAL = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.S)
COLON = re.compile(r"\s*:\s*")
NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*")
LONE = re.compile("[\ud800-\udbff\udc00-\udc7f\udd00-\udfff]")  # the rest stand for raw bytes

Replace = Callable[[str | None, str], str]


def is_json(text: str) -> bool:
    """Tell whether a text is one JSON object, list or string."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]", '""') or len(stripped) < 2:
        return False
    try:
        json.loads(stripped)
    except (ValueError, RecursionError):
        return False
    return True


def rewrite(text: str, replace: Replace) -> str:
    """Return JSON text with its strings replaced.

    Args:
        text: valid JSON.
        replace: gets a key and its value, for values that are text or a number, and ``None`` and
            a text for all others, names of keys among them; returns what is to stand there.
            A string it returns unchanged keeps its spelling.
    """
    edits: list[tuple[int, int, str]] = []
    key: str | None = None
    key_ends = -1
    for match in LITERAL.finditer(text):
        value = _read(match[0])
        new = replace(key if match.start() == key_ends else None, value)
        if new != value:
            edits.append((*match.span(), spell(new, like=match[0])))
        colon = COLON.match(text, match.end())
        if colon is None:
            continue
        key, key_ends = value, colon.end()
        number = NUMBER.match(text, key_ends)
        if number is not None and (new := replace(key, number[0])) != number[0]:
            edits.append((*number.span(), spell(new, like="")))
    return _edited(text, edits)


def values(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the strings of JSON text that are no keys, in order, each with its place."""
    for match in LITERAL.finditer(text):
        if COLON.match(text, match.end()) is None:
            yield _read(match[0]), match


def replace_values(text: str, new: Mapping[int, str]) -> str:
    """Return JSON text with some of its strings replaced, numbered as ``values`` yields them."""
    edits = [
        (*match.span(), spell(new[number], like=match[0]))
        for number, (_, match) in enumerate(values(text))
        if number in new
    ]
    return _edited(text, edits)


def spell(value: str, *, like: str) -> str:
    """Return a JSON string, escaped beyond ASCII where another is."""
    if like.isascii():
        return json.dumps(value)
    text = json.dumps(value, ensure_ascii=False)
    return LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _read(literal: str) -> str:
    return str(json.loads(literal)) if "\\" in literal else literal[1:-1]


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    out: list[str] = []
    done = 0
    for start, end, new in edits:
        out += (text[done:start], new)
        done = end
    return "".join((*out, text[done:])) if edits else text
