"""Carry a pinned block in the system message, and the newest K turns whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.policies.pinned import PINNED_NOTE, check_pins, split
from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedInSystem:
    """Keep the newest turns whole, and of what is older a block in the system message.

    A block that grows changes the front of every request, and so spoils the whole cached prefix
    once a turn; :class:`PinnedAtEnd` does not. Without a system message one is added.

    Attributes:
        pins: the block's lines; ``None`` pins all that the user said in the turns left out.
        last_turns: how many turns keep their answers, tool calls and results.
        note: the block's first line, which tells the model that turns were left out.
    """

    pins: Sequence[str] | None = None
    last_turns: int = 4
    note: str = PINNED_NOTE

    def __post_init__(self) -> None:
        check_pins(self, self.pins, self.last_turns)

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        parts = split(messages, pins=self.pins, last_turns=self.last_turns, note=self.note)
        if not parts.block:
            return list(messages)
        head = parts.head or [{"role": "system", "content": ""}]
        return [*head[:-1], _extended(head[-1], parts.block), *parts.kept]


def _extended(message: Message, block: str) -> Message:
    content: Any = message.get("content") or ""
    if isinstance(content, str):
        return {**message, "content": f"{content}\n\n{block}" if content else block}
    return {**message, "content": [*content, {"type": "text", "text": block}]}
