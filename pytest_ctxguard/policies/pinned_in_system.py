"""Carry a pinned block in the system message, and the newest K turns whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.policies.pinned import Pinned
from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedInSystem(Pinned):
    """Keep the newest turns whole, and of what is older a block in the system message.

    A block that grows changes the front of every request, and so spoils the whole cached prefix
    once a turn; :class:`PinnedAtEnd` does not. Without a system message one is added.
    """

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        parts = self.split(messages)
        if not parts.block:
            return list(messages)
        head = parts.head or [{"role": "system", "content": ""}]
        return [*head[:-1], _extended(head[-1], parts.block), *parts.kept]


def _extended(message: Message, block: str) -> Message:
    content: Any = message.get("content") or ""
    if isinstance(content, str):
        return {**message, "content": f"{content}\n\n{block}" if content else block}
    return {**message, "content": [*content, {"type": "text", "text": block}]}
