"""Replace secrets in text and bytes, through every layer of encoding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, quote_plus, unquote_plus, unquote_to_bytes

from pytest_ctxguard.recording.scrubbing import base64_runs, compressed, json_text, streamed
from pytest_ctxguard.recording.scrubbing.finding import Span, by_form, by_words, merged
from pytest_ctxguard.recording.scrubbing.known import Known, digest, encode, is_random
from pytest_ctxguard.recording.scrubbing.patterns import (
    FORM_KEYS,
    LIKELY_KEYS,
    SCRUBBED,
    SECRET_KEYS,
    TYPE_WORDS,
    plain,
)

DEPTH = 10  # layers of encoding and of JSON in JSON
SEGMENT = re.compile(r"[^\s\"'<>\\&=?#]+")
KEPT_IN_SEGMENTS = "/:@!$()*,;+~|[]{}^`"
READABLE = re.compile(rb"[\t\n\r\x20-\x7e]{6,}")
FORM = re.compile(r"[\w.~%*+\[\]-]+=[^&\s\"{}<>]*(?:&[\w.~%*+\[\]-]+=[^&\s\"{}<>]*)*")
DELIMITER = re.compile(r"((?:^|\r?\n)--[^\r\n]*(?:\r?\n)?)")
PART_NAME = re.compile(r"(?i)^content-disposition:[^\r\n]*;\s*name=\"?([^\";\r\n]+)", re.M)
BLANK = re.compile(r"\r?\n\r?\n")

Value = TypeVar("Value", str, bytes)


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret that was found.

    Attributes:
        what: which, never its value.
        digest: a short hash of it.
        via: encodings it was under, the outermost first.
    """

    what: str
    digest: str
    via: tuple[str, ...] = ()


class Scrubber:
    """Replaces secrets; scrubbing what it returns changes nothing.

    Attributes:
        known: values that are secret wherever they stand; grows with what traffic shows.
        hits: found so far, in order.
    """

    def __init__(self, known: Known) -> None:
        self.known = known
        self.hits: list[Hit] = []
        self._via: list[str] = []
        self._depth = 0

    def data(self, data: bytes) -> bytes:
        """Replace the secrets of a body, or of what was encoded in one; compressed or not."""
        if compressed.is_packed(data):
            return self.coded(data, "gzip" if compressed.is_gzip(data) else "deflate")
        return self._plain_bytes(data)

    def coded(self, data: bytes, coding: str) -> bytes:
        """Replace the secrets of a body in a content coding; one that is not in it is plain.

        Raises:
            RecordingError: nothing installed can undo the coding, or the body is too large.
        """
        try:
            inner = compressed.decode(data, coding)
        except ValueError:
            return self._plain_bytes(data)
        new = self._under(coding, self.data, inner)
        return data if new == inner else compressed.recode(new, coding, like=data)

    def body(self, text: str) -> str:
        """Replace the secrets of a whole body: also fields of forms, and what a stream splits."""
        if FORM.fullmatch(text):
            text = self.form(text)
        if text.startswith("--"):
            text = "".join(map(self._part, DELIMITER.split(text)))
        return self.text(streamed.rewrite(text, self._assembled))

    def form(self, text: str, *, keys: frozenset[str] = FORM_KEYS) -> str:
        """Replace the secrets of a form or a query, URL-encoded."""
        pairs = [pair.partition("=") for pair in text.split("&")]
        return "&".join(f"{k}{sign}{self._field(k, v, keys=keys)}" for k, sign, v in pairs)

    def text(self, text: str) -> str:
        """Replace the secrets of any text."""
        if len(text) < 4 or self._depth >= DEPTH or text in self.known.clean:
            return text
        if json_text.is_json(text):
            new = json_text.rewrite(text, self.pair)
        else:
            new = streamed.JSON_LINE.sub(self._json_line, text)
            new = self._replaced(new, (*by_form(self.known, new), *by_words(new)))
            new = self._decoded(new)
        if new == text and self._depth < DEPTH // 2:
            self.known.clean.add(text)
        return new

    def raw(self, text: str) -> str:
        """Replace what is secret by its value or form, plain or under URL encoding or base64."""
        return self._decoded(self._replaced(text, by_form(self.known, text)))

    def _decoded(self, text: str) -> str:
        """Replace what is secret under URL encoding or base64."""
        if "%" in text:
            text = SEGMENT.sub(self._segment, text)
        return base64_runs.rewrite(text, self._in_base64, clean=self.known.clean_runs)

    def pair(self, key: str | None, value: str) -> str:
        """Replace a string of JSON by its key, or the secrets in it; ``None``: it has no key."""
        name = plain(key or "")
        likely = name in LIKELY_KEYS and is_random(value, length=16)
        if likely or (name in SECRET_KEYS and value and value.lower() not in TYPE_WORDS):
            return self.whole(value, f"the value of key {key!r}")
        return self._under(None, self.text, value)

    def whole(self, value: str, what: str, *, length: int = 8) -> str:
        """Replace a whole value, and search for it from now on.

        Args:
            value: the secret.
            what: where it was seen, for messages.
            length: it is searched for only if it has so many characters, and is random.
        """
        if value == SCRUBBED:
            return value
        self.known.learn(value, what, length=length)
        self._hit(value, what)
        return SCRUBBED

    def _plain_bytes(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        new = self.body(text)
        return data if new == text else encode(new)

    def _field(self, key: str, value: str, *, keys: frozenset[str]) -> str:
        name, decoded = unquote_plus(key), unquote_plus(value, errors="surrogateescape")
        if value and plain(name) in keys:
            length = 8 if plain(name) in SECRET_KEYS else 16
            return self.whole(decoded, f"the field {name!r}", length=length)
        new = self._under("URL encoding" if decoded != value else None, self.text, decoded)
        return value if new == decoded else quote_plus(encode(new))

    def _part(self, part: str) -> str:
        """Replace the field in a part of a multipart form, or the secrets in it."""
        blank = BLANK.search(part)
        name = PART_NAME.search(part, 0, blank.start()) if blank else None
        if blank is None or name is None:
            return part
        head, value = part[: blank.end()], part[blank.end() :]
        if value and plain(name[1]) in FORM_KEYS:
            return head + self.whole(value, f"the field {name[1]!r}")
        data = encode(value)
        new = self._under(None, self.data, data)
        return part if new == data else head + new.decode("utf-8", "surrogateescape")

    def _json_line(self, match: re.Match[str]) -> str:
        before, payload, after = match.groups()
        if not json_text.is_json(payload):
            return match[0]
        return f"{before}{json_text.rewrite(payload, self.pair)}{after}"

    def _segment(self, match: re.Match[str]) -> str:
        segment = match[0]
        if "%" not in segment:
            return segment
        decoded = unquote_to_bytes(encode(segment)).decode("utf-8", "surrogateescape")
        if decoded == segment:
            return segment
        new = self._under("URL encoding", self.text, decoded)
        return segment if new == decoded else quote(encode(new), safe=KEPT_IN_SEGMENTS)

    def _in_base64(self, data: bytes) -> bytes:
        return self._under("base64", self._of_any_kind, data)

    def _of_any_kind(self, data: bytes) -> bytes:
        """Replace the secrets of a text; of bytes that are none, those in its readable stretches.

        Most of what is tried as base64 is none, or an image.
        """
        if compressed.is_packed(data):
            return self.data(data)
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return READABLE.sub(self._stretch, data)
        return self.data(data)

    def _stretch(self, match: re.Match[bytes]) -> bytes:
        return self.text(match[0].decode("ascii")).encode("utf-8")

    def _assembled(self, text: str) -> str:
        return self._under("the chunks of a stream", self.text, text)

    def _replaced(self, text: str, spans: Iterable[Span]) -> str:
        out: list[str] = []
        done = 0
        for start, end, what in merged(spans, text):
            self._hit(text[start:end], what)
            out += (text[done:start], SCRUBBED)
            done = end
        return "".join((*out, text[done:])) if out else text

    def _hit(self, secret: str, what: str) -> None:
        self.hits.append(Hit(what, digest(secret), tuple(self._via)))

    def _under(self, encoding: str | None, scrub: Callable[[Value], Value], value: Value) -> Value:
        """Scrub what was decoded, one layer deeper; hits name the encoding."""
        if self._depth >= DEPTH:
            return value
        self._depth += 1
        if encoding:
            self._via.append(encoding)
        try:
            return scrub(value)
        finally:
            self._depth -= 1
            if encoding:
                self._via.pop()
