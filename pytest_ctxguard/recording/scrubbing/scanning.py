"""Search the bytes of a file for secrets that are still there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_ctxguard.recording.scrubbing.compressed import GZIP, gunzip
from pytest_ctxguard.recording.scrubbing.headers import scrub_address, scrub_header
from pytest_ctxguard.recording.scrubbing.known import Known
from pytest_ctxguard.recording.scrubbing.places import Leaf, leaves
from pytest_ctxguard.recording.scrubbing.scrubber import Hit, Scrubber


@dataclass(frozen=True, slots=True)
class Find:
    """A secret in a file.

    Attributes:
        hit: which.
        line: where, from 1; ``None``: not known.
        place: where in the parsed file; ``None``: found in the bytes.
    """

    hit: Hit
    line: int | None
    place: str | None = None


def scan(data: bytes, known: Known) -> Iterator[Find]:
    """Yield the secrets in a file: in its bytes, in what they encode, in what it parses to."""
    yield from _in_bytes(data, known)
    for leaf in leaves(data):
        scrubber = Scrubber(known)
        _scrub(scrubber, leaf)
        yield from (Find(hit, leaf.line, leaf.place) for hit in scrubber.hits)


def _in_bytes(data: bytes, known: Known) -> Iterator[Find]:
    text = data.decode("utf-8", "surrogateescape")
    scrubber = Scrubber(known)
    changed = scrubber.raw(text)
    first = next((i for i, (a, b) in enumerate(zip(text, changed, strict=False)) if a != b), 0)
    yield from (Find(hit, text.count("\n", 0, first) + 1) for hit in scrubber.hits)
    joined = "".join(text.split())
    for core, what, digest in known.cores():
        if core in joined:
            at = text.find(core)
            line = text.count("\n", 0, at) + 1 if at >= 0 else None
            yield Find(Hit(what, digest, ("base64",)), line)
    start = data.find(GZIP)
    while start >= 0:
        yield from _in_gzip(data, start, known)
        start = data.find(GZIP, start + 1)


def _in_gzip(data: bytes, start: int, known: Known) -> Iterator[Find]:
    try:
        inner = gunzip(data[start:])
    except ValueError:
        return
    scrubber = Scrubber(known)
    scrubber.data(inner)
    line = data.count(b"\n", 0, start) + 1
    yield from (Find(Hit(h.what, h.digest, ("gzip", *h.via)), line) for h in scrubber.hits)


def _scrub(scrubber: Scrubber, leaf: Leaf) -> None:
    value, path = leaf.value, leaf.path
    if isinstance(value, bytes):
        scrubber.data(value)
    elif "headers" in path[:-1]:
        name = str(path[path.index("headers") + 1])
        if value != name:
            scrub_header(scrubber, name, value)
    elif path[-1:] in (("uri",), ("url",)):
        scrub_address(scrubber, value)
    elif "body" in path:
        scrubber.body(value)
    else:
        scrubber.text(value)
