"""Whether a value stands in a text: as a word, to the letter, normalised, or as a number.

What neighbours a value decides: ``4417`` is neither in ``44170`` nor in ``pay-4417-x``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

from pytest_ctxguard.transcript.numbers import contains_number

Match = Literal["word", "exact", "text", "number", "regex"]
MATCHES: tuple[Match, ...] = ("word", "exact", "text", "number", "regex")

NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, Han; and Hangul, whose words take their particles."""


def contains(text: str, value: str) -> bool:
    """Tell whether a value stands in a text as a word of its own, in any case.

    The word boundary is ASCII, so that a number is found inside Chinese or Japanese, which
    write no spaces.
    """
    # most of many look-alikes are not there, and a pattern takes longer to make than to search
    if value.isascii() and text.isascii() and value.lower() not in text.lower():
        return False
    return _word(value, re.IGNORECASE).search(text) is not None


def contains_exactly(text: str, value: str) -> bool:
    """Tell whether a value stands in a text as a word of its own, to the letter."""
    return _word(value, 0).search(text) is not None


def contains_text(text: str, value: str) -> bool:
    """Tell whether a value stands in a text once both are normalised; see :func:`normalised`.

    It must not be part of a longer word, in scripts that put spaces between words.
    """
    value = normalised(value)
    if not value:
        return False
    pattern = rf"{_not_word(value[0], '<')}{re.escape(value)}{_not_word(value[-1], '')}"
    return re.search(pattern, normalised(text)) is not None


def contains_pattern(text: str, pattern: str) -> bool:
    """Tell whether a regular expression matches somewhere in a text, in any case."""
    return re.search(pattern, text, re.IGNORECASE) is not None


CONTAINS: Mapping[str, Callable[[str, str], bool]] = {
    "word": contains,
    "exact": contains_exactly,
    "text": contains_text,
    "number": contains_number,
}
"""Those that compare a text with a value; an expression is none."""


def normalised(text: str) -> str:
    """Return a text without what typing may change.

    Compatibility forms are folded (Unicode NFKC), then case; punctuation, backticks and
    whitespace become single spaces; soft hyphens and other marks of format go.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(map(_plain, unicodedata.normalize("NFKC", folded))).split())


@lru_cache(maxsize=256)
def _word(value: str, flags: int) -> re.Pattern[str]:
    inner = rf"(?<![A-Za-z0-9_-]){re.escape(value)}(?![A-Za-z0-9_-])"
    return re.compile(inner if value else r"(?!)", flags)


def _not_word(edge: str, direction: str) -> str:
    """Return a look-around for what may not stand beside the edge of a value."""
    if re.match(f"[{NO_SPACES}]", edge) or not edge.isalnum():
        return ""
    beside = "[a-z0-9_]" if edge.isascii() else rf"(?![{NO_SPACES}])\w"
    return f"(?{direction}!{beside})"


def _plain(char: str) -> str:
    kind = unicodedata.category(char)
    if kind == "Cf":
        return ""
    return " " if kind[0] in "PZ" or kind == "Sk" else char
