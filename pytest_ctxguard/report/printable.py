"""Text of any origin, as a terminal may be given it."""

from __future__ import annotations

import re

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline; marks that turn the direction; half surrogate pairs."""


def printable_lines(text: str) -> str:
    """Return text with what a terminal would obey, or could not write, spelled out."""
    return ACTING.sub(lambda match: ascii(match.group())[1:-1], text)


def printable(text: str) -> str:
    """Return text for one line of a terminal: line breaks and tabs are spelled out, too."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def encodable(text: str) -> str:
    """Return text with half surrogate pairs, which no encoding can write, spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
