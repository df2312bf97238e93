"""What holds for every estimator, whatever its constants: no counter is needed to see it."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from pytest_ctxguard.tokens.corpus.kinds import kinds
from pytest_ctxguard.tokens.corpus.texts import corpus
from pytest_ctxguard.tokens.estimates.asking import Asked, Raised, shown
from pytest_ctxguard.tokens.estimates.references import BEFORE
from pytest_ctxguard.tokens.estimates.samples import shapes
from pytest_ctxguard.transcript.messages import Message

ACCEPTED = "no exception, whatever is sent"
ROUNDING = 2  # tokens: what is rounded up over a whole request moves by less

ODD = {
    "the empty text": "",
    "a NUL": "a\0b",
    "half a surrogate pair": "disk \ud83d full",
    "control tokens, spelled": "stops at <|endoftext|> and at <|im_start|>",
    "a megabyte of one letter": "a" * 1_000_000,
}


@dataclass(frozen=True, slots=True)
class Broken:
    """A property that an estimator has not.

    Attributes:
        name: of the property.
        where: the text or message that shows it.
        measured: what was seen.
        allowed: what holds for every estimator.
    """

    name: str
    where: str
    measured: str
    allowed: str


def broken_properties(subject: Asked) -> tuple[Broken, ...]:
    """Return the properties that an estimator has not, one finding each."""
    found: dict[str, Broken] = {}
    checks = TEXT if subject.takes == "text" else {**TEXT, **MESSAGES}
    for name, check in checks.items():
        try:
            broken = check(subject)
        except Raised as raised:
            broken = Broken("accepts", f"what tells whether {name} holds", str(raised), ACCEPTED)
        if broken:
            found.setdefault(broken.name, broken)
    return tuple(found.values())


def _accepts(subject: Asked) -> Broken | None:
    for what, text in ODD.items():
        try:
            subject.text(text)
        except Raised as raised:
            return Broken("accepts", what, str(raised), ACCEPTED)
    return None


def _repeats(subject: Asked) -> Broken | None:
    for text in corpus():
        first, second = subject.text(text.text), subject.text(text.text)
        if first != second:
            where = f"the {text.name} text, asked twice"
            return Broken(
                "repeats", where, f"{shown(first)}, then {shown(second)}", "the same number"
            )
    return None


def _grows(subject: Asked) -> Broken | None:
    if subject.takes == "messages":
        return _grows_by_messages(subject)
    text, before = "", 0.0
    for name, more in kinds().items():
        text = f"{text}\n{more}"
        now = subject.text(text)
        if now < before:
            measured = f"{shown(before)} before, {shown(now)} with it"
            return Broken("grows", f"a text to which {name} is appended", measured, "no less")
        before = now
    return None


def _grows_by_messages(subject: Asked) -> Broken | None:
    messages: list[Message] = [*BEFORE]
    before = subject.request(messages)
    for message in _history():
        messages.append(message)
        now = subject.request(messages)
        if now < before:
            where = f"message {len(messages) - 1} ({message['role']}) of a session"
            return Broken(
                "grows", where, f"{shown(before)} before, {shown(now)} with it", "no less"
            )
        before = now
    return None


def _adds_up(subject: Asked) -> Broken | None:
    history = [*BEFORE, *_history()]
    for name, message in {**shapes(), "user": {"role": "user", "content": "Go on."}}.items():
        alone = subject.message(message)
        later = subject.request([*history, message]) - subject.request(history)
        if abs(later - alone) > ROUNDING:
            measured = f"{shown(alone)} after one message, {shown(later)} after {len(history)}"
            allowed = f"the same, to {ROUNDING} tokens of rounding"
            return Broken("adds-up", f"a message ({name})", measured, allowed)
    return None


def _reads_blocks(subject: Asked) -> Broken | None:
    text = kinds()["log"]
    plain = subject.message({"role": "user", "content": text})
    blocks = subject.message({"role": "user", "content": [{"type": "text", "text": text}]})
    if plain != blocks:
        measured = f"{shown(plain)} as a string, {shown(blocks)} as a list with one text part"
        return Broken("reads-blocks", "a user message", measured, "the same: it is one message")
    return None


def _prices_images(subject: Asked) -> Broken | None:
    small, large = (subject.message(_image(noise=noise)) for noise in (False, True))
    if small != large:
        lengths = [len(_png(noise=noise)) for noise in (False, True)]
        measured = (
            f"{shown(small)} and {shown(large)} for {lengths[0]} and {lengths[1]} bytes of PNG"
        )
        where = "two images of 64 by 64 pixels"
        return Broken("prices-images", where, measured, "the same: images are billed by pixels")
    return None


Check = Callable[[Asked], Broken | None]
TEXT: Mapping[str, Check] = {"accepts": _accepts, "repeats": _repeats, "grows": _grows}
MESSAGES: Mapping[str, Check] = {
    "adds-up": _adds_up,
    "reads-blocks": _reads_blocks,
    "prices-images": _prices_images,
}


def _history() -> list[Message]:
    """Return a session with a tool round, whose assistant messages have text and calls."""
    call = shapes()["text-and-call"]
    called = call["tool_calls"][0]["id"]
    return [
        {"role": "user", "content": f"Which host is full? I saw this:\n{kinds()['log']}"},
        call,
        {"role": "tool", "tool_call_id": called, "content": kinds()["log"]},
        {"role": "assistant", "content": "It is pay-db-01."},
        {"role": "user", "content": "Clean it up."},
    ]


def _image(*, noise: bool) -> Message:
    url = "data:image/png;base64," + base64.b64encode(_png(noise=noise)).decode("ascii")
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def _png(*, noise: bool, size: int = 64) -> bytes:
    """Return a grey PNG, plain or of noise: as many pixels, and many more bytes."""
    rng = Random("noise")  # noqa: S311 - pixels
    row = b"\0" + bytes(size)
    rows = (b"\0" + rng.randbytes(size) if noise else row for _ in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
