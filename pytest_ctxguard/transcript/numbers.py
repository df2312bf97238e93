"""Numbers as people and programs write them: grouped, with a decimal comma, with a unit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

SPACES = " \u00a0\u2009\u202f"
_BODY = re.compile(rf"\d+(?:[,.'\u2019_]\d+|[{SPACES}]\d{{3}}(?!\d))*|(?<![\w.])\.\d+", re.ASCII)
_EXPONENT = re.compile(r"[eE][+-]?\d{1,3}(?![\w.])", re.ASCII)
_TAIL = re.compile(r"[A-Za-z_-]*")
_MAGNITUDE = re.compile(r"[kKMBGT]|-[A-Za-z]")
_WRITTEN_APART = str.maketrans(
    {"\uff0c": ",", "\uff0e": ".", "\u066b": ".", "\u066c": ",", "\uff0d": "-", "\u2212": "-"}
)


def contains_number(text: str, value: str) -> bool:
    """Tell whether a text has a number of this value, however it is written.

    ``1234``, ``1,234``, ``1 234``, ``1.234,0`` and ``1.234e3`` are one number. What can be read
    in two ways (``1,234``) counts either way in the text; a value is read as programs write it:
    its comma groups, its dot is decimal. A number with a unit counts (``250ms``); none is part
    of another, of a word, a time, a version or an address (``shard-7``, ``12:30``, ``10.0.0.1``).
    """
    wanted = number(value)
    return wanted is not None and any(wanted in readings for _, readings in _numbers(text))


def number(value: str) -> Decimal | None:
    """Return the number that a value is; ``None``: it is none, or more than a number."""
    value = value.strip()
    found = list(_numbers(value))
    if len(found) != 1 or found[0][0] != len(value):
        return None
    return found[0][1][0]


def _numbers(text: str) -> Iterator[tuple[int, tuple[Decimal, ...]]]:
    """Yield each number of a text: how many characters it takes, and its readings."""
    text = "".join(_digit(char) for char in text.translate(_WRITTEN_APART))
    for match in _BODY.finditer(text):
        start, end = match.span()
        sign = _sign(text, start)
        if sign is None:
            continue
        exponent = _EXPONENT.match(text, end)
        if exponent:
            end = exponent.end()
        elif _goes_on(text, end):
            continue
        for readings in _readings(match.group()):
            if exponent:
                readings = tuple(r.scaleb(int(exponent.group()[1:])) for r in readings)
            if sign == "-":  # copied: a minus would round to the context's 28 digits
                readings = tuple(r.copy_negate() for r in readings)
            yield end - start + len(sign), readings


def _digit(char: str) -> str:
    """Return the ASCII form of a decimal digit of any script; superscripts are none."""
    return char if char.isascii() else str(unicodedata.decimal(char, char))


def _sign(text: str, start: int) -> str | None:
    """Return the sign before a number, ``None`` where the number is part of something longer."""
    before = text[max(start - 2, 0) : start]
    if re.search(r"[A-Za-z_]\Z|[A-Za-z_][-+.]\Z|\d:\Z", before):
        return None
    if before[-1:] in ("-", "+") and not before[:-1].isdigit():
        return before[-1]
    return ""


def _goes_on(text: str, end: int) -> bool:
    """Tell whether what follows a number makes it part of something longer: no unit."""
    match = _TAIL.match(text, end)
    tail = match.group() if match else ""
    after = text[end + len(tail) : end + len(tail) + 2]
    if not tail:
        return re.match(r":\d", after) is not None
    return tail != "-" and (after[:1].isdigit() or _MAGNITUDE.fullmatch(tail) is not None)


def _readings(body: str) -> Iterator[tuple[Decimal, ...]]:
    """Yield the readings of digits and separators; a list without spaces is several numbers."""
    pieces = re.split(rf"[,.'\u2019_{SPACES}]", body)
    marks = re.findall(rf"[,.'\u2019_{SPACES}]", body)
    found = _read(pieces, marks)
    if found:
        yield found
    elif set(marks) & set(SPACES):
        for part in re.split(f"[{SPACES}]", body):
            yield from _readings(part)
    elif set(marks) == {","}:
        yield from ((Decimal(piece),) for piece in pieces)


def _read(pieces: Sequence[str], marks: Sequence[str]) -> tuple[Decimal, ...]:
    grouped, decimal = None, None
    if _is_grouped(pieces, marks):
        grouped = Decimal("".join(pieces))
    last = marks[-1] if marks else ""
    if last in (",", ".") and last not in marks[:-1] and _is_grouped(pieces[:-1], marks[:-1]):
        decimal = Decimal(f"{''.join(pieces[:-1]) or '0'}.{pieces[-1]}")
    order = (decimal, grouped) if last == "." else (grouped, decimal)
    return tuple(reading for reading in order if reading is not None)


def _is_grouped(pieces: Sequence[str], marks: Sequence[str]) -> bool:
    """Tell whether digits stand in groups of three, or of two before the last (India)."""
    if not marks:
        return True
    return (
        len(set(marks)) == 1
        and 1 <= len(pieces[0]) <= 3
        and len(pieces[-1]) == 3
        and {len(piece) for piece in pieces[1:-1]} in (set(), {2}, {3})
    )
