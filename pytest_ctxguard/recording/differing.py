"""How like two requests are, and where they first differ."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pytest_ctxguard.recording.canonical import Canonical, written

PARTS = ("method", "scheme", "host", "port", "path", "query")
SHOWN = 60  # characters of a value
BEFORE = 20  # of them before the place where two texts part


class Absent(enum.Enum):
    """What stands for a field that one of two bodies has not."""

    ABSENT = "nothing"


ABSENT = Absent.ABSENT
Leaf = tuple[str, Any, Any]  # a place, what was recorded there, what was sent


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two requests differ.

    Attributes:
        place: ``path``, ``body``, or a field such as ``messages[3].content``.
        recorded: what was recorded there, shortened.
        sent: what was sent, shortened.
        more: how many more places differ.
    """

    place: str
    recorded: str
    sent: str
    more: int


def first_difference(recorded: Canonical, sent: Canonical) -> Difference | None:
    """Return where two requests first differ, the address before the body; None where nowhere."""
    leaves = [
        (name, getattr(recorded, name), getattr(sent, name))
        for name in PARTS
        if getattr(recorded, name) != getattr(sent, name)
    ]
    if recorded.identity != sent.identity:
        leaves += differences(recorded.body, sent.body)
    if not leaves:
        return None
    (place, before, now), *more = leaves
    return Difference(place, *_shortened(before, now), more=len(more))


def differences(recorded: Any, sent: Any, place: str = "") -> Iterator[Leaf]:
    """Yield every place where two bodies differ, in the order of what was sent."""
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for key in dict.fromkeys((*sent, *recorded)):
            inner = f"{place}.{key}" if place else str(key)
            yield from differences(recorded.get(key, ABSENT), sent.get(key, ABSENT), inner)
    elif isinstance(recorded, list) and isinstance(sent, list):
        for index, (before, now) in enumerate(zip_longest(recorded, sent, fillvalue=ABSENT)):
            yield from differences(before, now, f"{place}[{index}]")
    elif not _same(recorded, sent):
        yield place or "body", recorded, sent


def _same(recorded: Any, sent: Any) -> bool:
    plain = (bytes, Absent)
    if isinstance(recorded, plain) or isinstance(sent, plain):
        return type(recorded) is type(sent) and bool(recorded == sent)
    return written(recorded) == written(sent)  # 1 is not true, and NaN is NaN


def likeness(recorded: Canonical, sent: Canonical) -> tuple[float, ...]:
    """Return how like two requests are, to be compared: the path, the host, then the body.

    The body counts as the share of fields that are equal; a text that differs counts by the
    share that it begins and ends with.
    """
    same = {name: getattr(recorded, name) == getattr(sent, name) for name in PARTS}
    return (
        same["method"] + same["path"],
        same["scheme"] + same["host"] + same["port"],
        _body_likeness(recorded.body, sent.body),
        same["query"],
    )


def _body_likeness(recorded: Any, sent: Any) -> float:
    before, now = dict(_leaves(recorded, "")), dict(_leaves(sent, ""))
    shared = sum(_leaf_likeness(before[place], now[place]) for place in before.keys() & now.keys())
    return shared / max(len(before), len(now), 1)


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, row in value.items():
            yield from _leaves(row, f"{place}.{key}")
    elif isinstance(value, list) and value:
        for index, row in enumerate(value):
            yield from _leaves(row, f"{place}[{index}]")
    else:
        yield place, value


def _leaf_likeness(recorded: Any, sent: Any) -> float:
    if _same(recorded, sent):
        return 1.0
    if type(recorded) is not type(sent) or not isinstance(recorded, str | bytes):
        return 0.0
    start = shared_length(recorded, sent)
    end = shared_length(recorded[start:][::-1], sent[start:][::-1])
    return (start + end) / max(len(recorded), len(sent))


def shared_length(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return how many items two texts begin with alike, found by halving."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(recorded: Any, sent: Any) -> tuple[str, str]:
    start = 0
    if type(recorded) is type(sent) and isinstance(recorded, str | bytes):
        start = max(0, shared_length(recorded, sent) - BEFORE)
    return _short(recorded, start), _short(sent, start)


def _short(value: Any, start: int) -> str:
    if isinstance(value, Absent):
        return value.value
    if isinstance(value, bytes):
        shown = value[start : start + SHOWN]
        text = f"{len(value):,} bytes {shown!r}" if value else "no body"
        return text + ("…" if start + SHOWN < len(value) else "")
    if isinstance(value, str):
        cut = value[start : start + SHOWN]
        before, after = "…" * (start > 0), "…" * (start + SHOWN < len(value))
        return json.dumps(before + cut + after, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
