"""Carry a pinned block at the end of the prompt, and the newest K turns whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.policies.pinned import Pinned
from pytest_ctxguard.transcript.messages import Message, is_user


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedAtEnd(Pinned):
    """Keep the newest turns whole, and of what is older a block at the end of the prompt.

    The block is a user message. It stands right before the last message when that is the user's,
    so that the request still ends in the question, and after it when it is a tool result. What
    stands before the block is the same from call to call within a turn.
    """

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        parts = self.split(messages)
        if not parts.block:
            return list(messages)
        sent = [*parts.head, *parts.kept]
        place = len(sent) - 1 if is_user(sent[-1]) else len(sent)
        sent.insert(place, {"role": "user", "content": parts.block})
        return sent
