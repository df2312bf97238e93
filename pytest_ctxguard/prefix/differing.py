"""Where two JSON values begin to differ: a path, a character, and the text on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.prefix.sent import as_json

BESIDE = 30  # characters shown on either side of a difference


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of two values.

    Attributes:
        path: to the smallest value that holds it, such as ``tool_calls[0].function.arguments``.
        character: within that value; in one that is no text, within its JSON.
        before: the whole text there, of the first value.
        after: of the second.
    """

    path: str
    character: int
    before: str
    after: str

    @property
    def excerpts(self) -> tuple[str, str]:
        """Both texts around the difference."""
        return excerpt(self.before, self.character), excerpt(self.after, self.character)


def first_difference(one: Any, other: Any, *, path: str = "") -> Difference:
    """Return where two values begin to differ; they must differ in their JSON."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names, others = list(one), list(other)
        for name, another in zip(names, others, strict=False):
            if name != another:
                return _unlike(one, other, name if name not in other else another, path)
            if as_json(one[name]) != as_json(other[name]):
                return first_difference(one[name], other[name], path=_under(path, name))
        longer = one if len(names) > len(others) else other
        return _unlike(one, other, list(longer)[min(len(names), len(others))], path)
    if isinstance(one, list) and isinstance(other, list):
        for index, (item, its) in enumerate(zip(one, other, strict=False)):
            if as_json(item) != as_json(its):
                return first_difference(item, its, path=f"{path}[{index}]")
    both_text = isinstance(one, str) and isinstance(other, str)
    before, after = (one, other) if both_text else (as_json(one), as_json(other))
    return Difference(path, common(before, after), before, after)


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any], name: str, path: str) -> Difference:
    """Return the difference that two objects have in their keys, at one of them."""
    if name in one and name in other:
        before, after = as_json(one), as_json(other)
        return Difference(path, common(before, after), before, after)
    texts = [as_json(each[name]) if name in each else "" for each in (one, other)]
    return Difference(_under(path, name), 0, texts[0], texts[1])


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else str(name)


def common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many items two sequences begin with alike."""
    alike, end = 0, min(len(one), len(other))
    while alike < end:  # by halves: slices are compared much faster than items
        middle = (alike + end + 1) // 2
        if one[alike:middle] == other[alike:middle]:
            alike = middle
        else:
            end = middle - 1
    return alike


def excerpt(text: str, character: int) -> str:
    """Return a text around one of its characters."""
    start = max(0, character - BESIDE)
    piece = text[start : character + BESIDE]
    return ("…" if start else "") + piece + ("…" if character + BESIDE < len(text) else "")
