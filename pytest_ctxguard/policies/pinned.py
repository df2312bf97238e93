"""The block that pinning policies carry, and the turns that they leave out for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, content_text, instructions, turn_starts

PINNED_NOTE = "[Earlier turns of this session were left out. Kept from them:]"


@dataclass(frozen=True, slots=True)
class Split:
    """A history in the parts a pinning policy puts together.

    Attributes:
        head: the leading instructions.
        block: the pinned text; empty when nothing was left out.
        kept: the newest turns, whole.
    """

    head: list[Message]
    block: str
    kept: list[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What pinning policies have in common.

    Attributes:
        pins: the block's lines; ``None`` pins all that the user said in the turns left out.
        last_turns: how many turns keep their answers, tool calls and results.
        note: the block's first line, which tells the model that turns were left out.
    """

    pins: Sequence[str] | None = None
    last_turns: int = 4
    note: str = PINNED_NOTE

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.last_turns < 1:
            raise UsageError(
                f"{name}(last_turns={self.last_turns}) cuts the current turn; give at least 1"
            )
        if isinstance(self.pins, str):
            raise UsageError(f"{name}(pins=…) takes a list of lines, not one text")

    def split(self, messages: Sequence[Message]) -> Split:
        """Split a history into instructions, pinned block and newest turns."""
        lead, starts = instructions(messages), turn_starts(messages)
        cut = starts[-self.last_turns] if len(starts) > self.last_turns else lead
        said = [content_text(messages[i]) for i in starts if i < cut]
        lines = said if self.pins is None else self.pins
        block = "\n".join([*([self.note] if self.note else []), *(f"- {line}" for line in lines)])
        return Split(
            head=list(messages[:lead]),
            block=block if cut > lead else "",
            kept=list(messages[cut:]),
        )
