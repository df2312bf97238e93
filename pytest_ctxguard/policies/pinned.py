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


def split(
    messages: Sequence[Message], *, pins: Sequence[str] | None, last_turns: int, note: str
) -> Split:
    """Split a history into instructions, pinned block and newest turns.

    Args:
        messages: the history.
        pins: the lines of the block; ``None`` pins what the user said in the turns left out.
        last_turns: how many turns are kept whole.
        note: the block's first line.
    """
    lead, starts = instructions(messages), turn_starts(messages)
    cut = starts[-last_turns] if len(starts) > last_turns else lead
    said = [content_text(messages[i]) for i in starts if i < cut]
    lines = said if pins is None else pins
    block = "\n".join([*([note] if note else []), *(f"- {line}" for line in lines)])
    return Split(
        head=list(messages[:lead]),
        block=block if cut > lead else "",
        kept=list(messages[cut:]),
    )


def check_pins(owner: object, pins: Sequence[str] | None, last_turns: int) -> None:
    """Refuse knobs that cut the current turn, or a text where lines are wanted."""
    name = type(owner).__name__
    if last_turns < 1:
        raise UsageError(f"{name}(last_turns={last_turns}) cuts the current turn; give at least 1")
    if isinstance(pins, str):
        raise UsageError(f"{name}(pins=…) takes a list of lines, not one text")
