"""Runs of text that can be base64, decoded at each alignment and encoded again."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from pytest_ctxguard.recording.scrubbing.compressed import is_packed

RUN = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")
WRAPPED = re.compile(r"(?:[A-Za-z0-9+/_-]{40,}\r?\n[ \t]*)+[A-Za-z0-9+/_-]*={0,2}")
PRINTABLE = re.compile(rb"[\x20-\x7e]{6,}")
STANDARD = str.maketrans("-_", "+/")
URL_SAFE = str.maketrans("+/", "-_")


def rewrite(text: str, scrub: Callable[[bytes], bytes], *, clean: set[str]) -> str:
    """Return a text with what its base64 runs decode to scrubbed.

    A run may begin with characters that are no part of the base64: all four alignments are tried.
    Base64 wrapped to lines is one run. A run in which nothing is changed keeps its spelling.

    Args:
        text: any text.
        scrub: replaces secrets in bytes.
        clean: runs that are known to hold none; those that are found to are added.
    """

    def run(match: re.Match[str]) -> str:
        if match[0] in clean:
            return match[0]
        new = _run(match[0], scrub)
        if new == match[0]:
            clean.add(new)
        return new

    return RUN.sub(run, WRAPPED.sub(run, text) if "\n" in text else text)


def _run(run: str, scrub: Callable[[bytes], bytes]) -> str:
    flat = "".join(run.split())
    if flat.isalpha() and flat.islower():
        return run  # a word
    for start in range(4):
        data = _decode(flat[start:])
        if PRINTABLE.search(data) or is_packed(data):
            new = scrub(data)
            if new != data:
                return _wrap(flat[:start] + _encode(new, old=data, like=flat[start:]), like=run)
    return run


def _decode(text: str) -> bytes:
    bare = text.rstrip("=").translate(STANDARD)
    bare = bare[:-1] if len(bare) % 4 == 1 else bare
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def _encode(new: bytes, *, old: bytes, like: str) -> str:
    """Encode; what comes before the first change keeps its spelling, in a mixed alphabet too."""
    same = next((i for i, (a, b) in enumerate(zip(new, old, strict=False)) if a != b), 0) // 3
    rest = base64.b64encode(new[same * 3 :]).decode("ascii")
    if re.search("[-_]", like[same * 4 :]):
        rest = rest.translate(URL_SAFE)
    padded = len(like) % 4 == 0
    return like[: same * 4] + (rest if padded else rest.rstrip("="))


def _wrap(text: str, *, like: str) -> str:
    break_ = re.search(r"\r?\n[ \t]*", like)
    if break_ is None:
        return text
    width = break_.start()
    return break_[0].join(text[i : i + width] for i in range(0, len(text), width))
