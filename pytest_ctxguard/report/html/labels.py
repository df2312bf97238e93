"""Names beside the points of a chart, so that none lies on another or on a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.report.html.chart import cut
from pytest_ctxguard.report.html.theme import CHARACTER

LONGEST = 34  # characters of a name
GAP = 9.0  # pixels between a point's middle and its name
LINE = 14.0  # pixels from a line to the next
Align = Literal["left", "right"]
PLACES: tuple[tuple[int, Align], ...] = tuple(
    (down, align) for down in (0, -1, 1, -2, 2) for align in ("left", "right")
)
"""Lines down from the point, and where the name begins; farther, it would seem another's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A point with a name; pixels from the left and from the top."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A name where it is written: its side of the point, and the middle of its height."""

    text: str
    x: float
    y: float
    align: Align


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def placed(dots: Sequence[Dot], *, width: float, height: float) -> tuple[Label, ...]:
    """Return a name for each point for which there is room.

    Points at one place share a name. A name stands to the right of its point; where it would
    leave the chart or lie on something, to the left, then a line or two above or below. Which
    points have no name follows from the order of places, not of points.

    Args:
        dots: the points.
        width: of the chart, in pixels.
        height: the same.
    """
    taken = [_Box(dot.x - 6, dot.y - 6, dot.x + 6, dot.y + 6) for dot in dots]
    found = []
    for (x, y), names in sorted(_together(dots).items()):
        text = cut(" = ".join(names), longest=LONGEST)
        length = len(text) * CHARACTER
        for down, align in PLACES:
            middle = y + down * LINE
            edge = x + GAP if align == "left" else x - GAP
            left = edge if align == "left" else edge - length
            box = _Box(left, middle - LINE / 2, left + length, middle + LINE / 2)
            inside = left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
            if inside and not any(map(box.meets, taken)):
                taken.append(box)
                found.append(Label(text=text, x=edge, y=middle, align=align))
                break
    return tuple(found)


def _together(dots: Sequence[Dot]) -> dict[tuple[float, float], list[str]]:
    found: dict[tuple[float, float], list[str]] = {}
    for dot in dots:
        found.setdefault((dot.x, dot.y), []).append(dot.text)
    return found
