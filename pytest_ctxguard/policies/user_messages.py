"""Send every user message verbatim and the newest K turns whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, is_instruction, is_user, turn_starts


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessages:
    """Keep system, developer and user messages of the whole session, and the newest turns whole.

    What the user said is little and matters most; what tools returned is much and soon stale.
    A session of one turn, however long, is sent whole.

    Attributes:
        last_turns: how many turns keep their answers, tool calls and results.
    """

    last_turns: int = 4

    def __post_init__(self) -> None:
        if self.last_turns < 1:
            raise UsageError(
                f"UserMessages(last_turns={self.last_turns}) would cut the current turn; "
                "give at least 1"
            )

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        starts = turn_starts(messages)
        whole_from = starts[-self.last_turns] if len(starts) > self.last_turns else 0
        return [
            message
            for index, message in enumerate(messages)
            if index >= whole_from or is_user(message) or is_instruction(message)
        ]
