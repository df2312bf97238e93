"""Phrases that decline, and words without content, by language: data, read and checked."""

from __future__ import annotations

import importlib.resources
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_ctxguard.errors import InputError

FILE = "phrases.toml"
KEYS = ("name", "spaces", "declines", "whole", "stop_words")
APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇`´", "'"))
EDGES = " \t\r\n.,;:!?…。！？、，\"'«»“”„*()[]{}<>_-—–।"
"""What may stand around an answer that says nothing else."""


@dataclass(frozen=True, slots=True)
class Language:
    """What one language's answers are read with.

    Attributes:
        code: ISO 639-1.
        name: in English.
        declines: matches a phrase that declines, in a :func:`plain` text.
        whole: answers that decline when they are all that is said.
        stop_words: words without content; single characters where ``spaces`` is false.
        spaces: whether words are written apart.
    """

    code: str
    name: str
    declines: re.Pattern[str]
    whole: frozenset[str]
    stop_words: frozenset[str]
    spaces: bool = True

    def declined(self, text: str) -> bool:
        """Tell whether a text, as :func:`plain` gives it, declines in this language."""
        alone = text.strip(EDGES).casefold() in self.whole
        return alone or self.declines.search(text) is not None


def declines(text: str) -> bool:
    """Tell whether a text declines to answer, in any language that ships."""
    text = plain(text)
    return any(language.declined(text) for language in languages())


def plain(text: str) -> str:
    """Return a text as the phrases are written: Unicode form NFC, straight apostrophes."""
    return unicodedata.normalize("NFC", text).translate(APOSTROPHES)


@cache
def languages() -> tuple[Language, ...]:
    """Return the languages that ship, in the order of the file."""
    file = importlib.resources.files(__package__) / FILE
    return read_languages(file.read_text("utf-8"), path=FILE)


def read_languages(text: str, *, path: str) -> tuple[Language, ...]:
    """Read and check the phrases of every language.

    Args:
        text: TOML, one table per language.
        path: names the text in errors.

    Raises:
        InputError: a key is unknown, missing or of the wrong type, or a pattern is none, or
            would match any answer.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", path=path) from None
    if not tables:
        raise InputError("no language; there must be one table for each", path=path)
    try:
        return tuple(_language(code, table) for code, table in tables.items())
    except ValueError as error:
        raise InputError(str(error), path=path) from None


def _language(code: str, table: Any) -> Language:
    if not isinstance(table, dict):
        raise ValueError(f"[{code}] is no table")
    for key in sorted(set(table) - set(KEYS)):
        raise ValueError(f"[{code}] has the unknown key {key!r}; it may have: {', '.join(KEYS)}")
    spaces = table.get("spaces", True)
    if not isinstance(spaces, bool):
        raise ValueError(f"[{code}] spaces must be true or false")
    stop_words = _text(code, table, "stop_words")
    return Language(
        code=code,
        name=_text(code, table, "name"),
        declines=_compiled(code, _texts(code, table, "declines"), spaces=spaces),
        whole=frozenset(said.casefold() for said in _texts(code, table, "whole")),
        stop_words=frozenset(stop_words.casefold().split() if spaces else stop_words),
        spaces=spaces,
    )


def _text(code: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"[{code}] {key} must be text, and not empty")
    return _checked(code, key, value)


def _texts(code: str, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = table.get(key)
    if not isinstance(values, list) or not values:
        raise ValueError(f"[{code}] {key} must be a list of texts, and not empty")
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"[{code}] {key} has {value!r}, which is no text")
    if len(set(values)) < len(values):
        raise ValueError(f"[{code}] {key} lists a text twice")
    return tuple(_checked(code, key, value) for value in values)


def _checked(code: str, key: str, value: str) -> str:
    """Return a text that an answer's plain form can match."""
    if value != plain(value):
        raise ValueError(
            f"[{code}] {key} has {value!r}, which no answer can match: write it in Unicode form "
            "NFC, with straight apostrophes"
        )
    return value


def _compiled(code: str, patterns: tuple[str, ...], *, spaces: bool) -> re.Pattern[str]:
    for pattern in patterns:
        try:
            compiled = re.compile(pattern, re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"[{code}] {pattern!r} is no regular expression: {error}") from None
        if compiled.search(""):
            raise ValueError(f"[{code}] {pattern!r} matches any answer")
    start = r"(?<!\w)" if spaces else ""
    return re.compile(f"{start}(?:{'|'.join(patterns)})", re.IGNORECASE)
