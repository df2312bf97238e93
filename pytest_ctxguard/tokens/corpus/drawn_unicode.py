"""Contents beyond ASCII that are drawn from a seed: emoji, marks, controls, rare characters."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from random import Random

from pytest_ctxguard.tokens.corpus.drawn_ascii import pick
from pytest_ctxguard.tokens.corpus.texts import corpus

EMOJI = "😀😅🔥🎉💳🚀✅❌⏳🧯🛠📦🧪💶🏦📉📈🥲🫠🦕🍋🧭"
JOINED = (
    "👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👩🏽‍🚒", "🧑🏿‍🤝‍🧑🏻", "🇳🇴", "🇯🇵", "❤️‍🔥", "👁️‍🗨️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "1️⃣", "👍🏾",
)  # fmt: skip
MARKS = "".join(map(chr, range(0x0300, 0x0362)))
BIDI = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
# They grow under NFC, which Hugging Face's Qwen applies first.
GROWING = (
    "\ufb1d\ufb1f\ufb2a\ufb2b\ufb2c\ufb2d\ufb2e\ufb2f\ufb3b\ufb44\ufb4a"
    "\u0958\u0959\u095b\u095c\U0001d15e\U0001d160"
)
COMPATIBLE = "ﬁﬂ㎏㍻㌔①⑳Ⅷ½¾ﷺ™㏒ﾊﾝｶｸ"


def text_in(language: str) -> str:
    """Return the incident in a language."""
    return next(text.text for text in corpus() if text.language == language)


def emoji(rng: Random) -> str:
    """Draw a chat with emoji."""
    words = ("paid", "twice", "again", "refund", "ok", "disk full", "thanks")
    return " ".join(pick(rng, words) + " " + pick(rng, EMOJI) * 2 for _ in range(50))


def emoji_joined(rng: Random) -> str:
    """Draw emoji that are several characters joined."""
    return "".join(pick(rng, JOINED) for _ in range(80))


def combining(rng: Random) -> str:
    """Draw letters under heaps of marks."""
    return "".join(
        letter + "".join(pick(rng, MARKS) for _ in range(1 + rng.randrange(6)))
        for letter in "the payment service became very slow and nobody knew why"
    )


def nfd(rng: Random) -> str:
    """Return Vietnamese and Korean with their marks and letters apart."""
    return unicodedata.normalize("NFD", text_in("vi")[:300] + "\n" + text_in("ko")[:120])


def nfc_growing(rng: Random) -> str:
    """Draw characters that become several when a tokenizer normalises them."""
    return "".join(pick(rng, GROWING) for _ in range(200))


def compatibility(rng: Random) -> str:
    """Draw ligatures, circled and squared characters, and half-width letters."""
    return "".join(pick(rng, COMPATIBLE) for _ in range(200))


def full_width(rng: Random) -> str:
    """Return English in wide letters, and in those of mathematics."""
    text = text_in("en")[:200]
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    bold = "".join(chr(0x1D41A + ord(c) - 97) if "a" <= c <= "z" else c for c in text)
    return f"{wide}\n{bold}"


def zero_width(rng: Random) -> str:
    """Draw English with invisible characters in it."""
    return "".join(c + pick(rng, ZERO_WIDTH) for c in text_in("en")[:250])


def bidi(rng: Random) -> str:
    """Draw Hebrew and English with marks of direction."""
    words = [*text_in("he").split(), *text_in("en").split()[:40]]
    return " ".join(pick(rng, BIDI) + word + pick(rng, BIDI) for word in words)


def rare_han(rng: Random) -> str:
    """Draw characters of the extensions of Han."""
    return "".join(chr(0x20000 + rng.randrange(0xA6DF)) for _ in range(200))


def private_use(rng: Random) -> str:
    """Draw private characters, as the icons of fonts are."""
    return "".join(chr(0xE000 + rng.randrange(0x1900)) for _ in range(200))


def mojibake(rng: Random) -> str:
    """Return texts that were read in the wrong encoding."""
    texts = (text_in("fr")[:250], text_in("ru")[:150], text_in("ja")[:60])
    return "\n".join(text.encode("utf-8").decode("latin-1") for text in texts)


def replacements(rng: Random) -> str:
    """Draw a text with bytes that could not be read."""
    return "".join("\N{REPLACEMENT CHARACTER}" if rng.randrange(3) else c for c in text_in("de"))


def controls(rng: Random) -> str:
    """Draw control characters, as binary files have them."""
    return "".join(chr(rng.randrange(32)) if rng.randrange(2) else c for c in text_in("en")[:300])


def json_escaped(rng: Random) -> str:
    r"""Return JSON that spells its characters as ``\u`` escapes."""
    texts = {tag: text_in(tag)[:60] for tag in ("ru", "zh-Hans", "ar", "hi")}
    return json.dumps({**texts, "state": "😀"})


def mixed_scripts(rng: Random) -> str:
    """Draw words of every script, in turn."""
    words = [text.text.split() or [text.text] for text in corpus() if text.script != "Han"]
    return " ".join(pick(rng, words[i % len(words)]) for i in range(100))


UNICODE_KINDS: Mapping[str, Callable[[Random], str]] = {
    "bidi": bidi,
    "combining": combining,
    "compatibility": compatibility,
    "controls": controls,
    "emoji": emoji,
    "emoji-joined": emoji_joined,
    "full-width": full_width,
    "json-escaped": json_escaped,
    "mixed-scripts": mixed_scripts,
    "mojibake": mojibake,
    "nfc-growing": nfc_growing,
    "nfd": nfd,
    "private-use": private_use,
    "rare-han": rare_han,
    "replacements": replacements,
    "zero-width": zero_width,
}
