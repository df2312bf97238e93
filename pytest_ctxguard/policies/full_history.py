"""Send everything: the policy that never forgets, and costs the most."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ctxguard.transcript.messages import Message


def full_history(messages: Sequence[Message]) -> list[Message]:
    """Return the history as it is."""
    return list(messages)
