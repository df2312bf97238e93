"""A page's size, whatever the run: what does not fit is counted, never cut in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

REFUSED = 3

Block = Callable[[], Markup]
"""A part of the page that is made when there is room for it."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The parts of a section that fit.

    Attributes:
        blocks: they, in their order.
        left_out: how many do not.
    """

    blocks: tuple[Markup, ...]
    left_out: int


class Room:
    """What is left of a page's bytes: each section is promised a share, and has what is over."""

    def __init__(self) -> None:
        self.left = 0

    def fill(self, blocks: Sequence[Block], *, share: int) -> Filled:
        """Return those of some parts that fit, the first before others.

        After some that do not, no more are made: making a chart takes time.

        Args:
            blocks: the parts, the most important first.
            share: bytes promised to this section.
        """
        self.left += share
        kept: list[Markup] = []
        refused = 0
        for block in blocks:
            made = block()
            size = len(made.encode("utf-8"))
            if size <= self.left:
                self.left -= size
                kept.append(made)
            elif (refused := refused + 1) == REFUSED:
                break
        return Filled(tuple(kept), len(blocks) - len(kept))
