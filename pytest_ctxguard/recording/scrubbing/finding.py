"""Where secrets stand in a text as it is, with nothing decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pytest_ctxguard.recording.scrubbing.known import Known, is_random
from pytest_ctxguard.recording.scrubbing.patterns import (
    QUOTED_PAIR,
    SCRUBBED,
    SECRET_KEYS,
    TOKENS,
    USERINFO,
    WORDED,
    plain,
)

TOKEN_HINTS = re.compile("|".join(re.escape(hint) for form in TOKENS for hint in form.hints))
WORD_HINTS = re.compile(r"bearer|authorization|://|=|key|token|secret|passw|[\"']\\*\s*:")

Span = tuple[int, int, str]  # start, end, what it is


def by_form(known: Known, text: str) -> Iterator[Span]:
    """Yield known values, and tokens that have a form of their own."""
    yield from known.spans(text)
    low = text.lower()
    if TOKEN_HINTS.search(low):
        for form in TOKENS:
            if any(hint in low for hint in form.hints):
                for match in form.pattern.finditer(text):
                    yield match.start(), match.end(), form.what


def by_words(text: str) -> Iterator[Span]:
    """Yield random values that the words before them call secret."""
    low = text.lower()
    if not WORD_HINTS.search(low):
        return
    for form in WORDED:
        if any(hint in low for hint in form.hints):
            short = form.what == USERINFO
            for match in form.pattern.finditer(text):
                if is_random(match["value"], length=6 if short else 12, digits=1 if short else 2):
                    yield *match.span("value"), form.what
    for match in QUOTED_PAIR.finditer(text):
        if plain(match["key"]) in SECRET_KEYS and is_random(match["value"], length=6, digits=1):
            yield *match.span("value"), f"the value of key {match['key']!r}"


def merged(spans: Iterable[Span], text: str) -> Iterator[Span]:
    """Yield spans in order, those that overlap as one; what is replaced already is left out."""
    current: Span | None = None
    for start, end, what in sorted(spans, key=lambda span: (span[0], -span[1])):
        if text[start:end] == SCRUBBED:
            continue
        if current is not None and start < current[1]:
            current = (current[0], max(current[1], end), current[2])
            continue
        if current is not None:
            yield current
        current = (start, end, what)
    if current is not None:
        yield current
