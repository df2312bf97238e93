"""Parts of a history that several reference policies keep."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ctxguard.transcript.messages import Message, is_instruction


def leading_instructions(messages: Sequence[Message]) -> int:
    """Return how many messages at the very start instruct the model."""
    return next(
        (i for i, message in enumerate(messages) if not is_instruction(message)), len(messages)
    )
