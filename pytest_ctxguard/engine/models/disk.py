"""Sizes, hashes and room: what the model store asks of the disk."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.errors import FetchError, ModelCorrupt

BLOCK = 1 << 20  # bytes read at a time
GROWTH = 2.5
"""Bytes of a converted model for each byte of its source, at most: 4-bit weights become 8-bit ones,
and a tied embedding is written twice. Measured: 1.4 (Q4_K_M, untied) and 1.9 (Q4_1, tied)."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A file's expected bytes.

    Attributes:
        sha256: hexadecimal digest.
        size: length in bytes.
    """

    sha256: str
    size: int


def pin_of(path: Path) -> Pin:
    """Hash a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            size += len(block)
    return Pin(digest.hexdigest(), size)


def check_size(path: Path, pin: Pin, *, remedy: str) -> None:
    """Raise ModelCorrupt unless a file is there and has the pinned size."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ModelCorrupt(f"{path}: cannot be read ({error.strerror}). {remedy}") from error
    if size != pin.size:
        raise ModelCorrupt(f"{path}: expected {pin.size:,} bytes, found {size:,}. {remedy}")


def check_pin(path: Path, pin: Pin, *, remedy: str) -> None:
    """Raise ModelCorrupt unless a file has the pinned size and hash."""
    check_size(path, pin, remedy=remedy)
    found = pin_of(path).sha256
    if found != pin.sha256:
        raise ModelCorrupt(f"{path}: expected sha256 {pin.sha256}, found {found}. {remedy}")


def is_whole(path: Path, pin: Pin) -> bool:
    """Whether a file has the pinned size and hash."""
    try:
        check_pin(path, pin, remedy="")
    except ModelCorrupt:
        return False
    return True


def combined_sha256(pins: Iterable[tuple[str, Pin]]) -> str:
    """Hash several files as one: the sha256 over sorted lines of name and hash."""
    lines = sorted(f"{name} {pin.sha256}\n" for name, pin in pins)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_room(folder: Path, needed: float, *, purpose: str) -> None:
    """Raise FetchError unless a folder's disk has ``needed`` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FetchError(
            f"{folder}: {purpose} needs {needed / 1e9:.2f} GB, {free / 1e9:.2f} GB are free. "
            "Make room, or set CTXGUARD_CACHE to a folder on a larger disk."
        )


def size_below(folder: Path) -> int:
    """Add up the files under a folder, in bytes; those that vanish meanwhile count as nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
        except OSError:
            continue  # deleted between the listing and the question
    return total
