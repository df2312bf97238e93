"""Send the instructions and the newest N messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, instructions, tool_rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow:
    """Keep the leading system and developer messages and the newest messages.

    The cut never parts a tool call from its results: when it would, it moves forward to the end
    of that round. When nothing is left there, because the newest messages are all results of one
    round, it moves back to the round's start instead: a request may not be empty of its turn.
    Whatever is older is forgotten, the user's task included.

    Attributes:
        last: how many messages to keep, the leading ones not counted.
    """

    last: int = 12

    def __post_init__(self) -> None:
        if self.last < 1:
            raise UsageError(f"SlidingWindow(last={self.last}) keeps nothing; give at least 1")

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        head = instructions(messages)
        start = max(head, len(messages) - self.last)
        for tool_round in tool_rounds(messages):
            if tool_round.start < start < tool_round.stop:
                whole = tool_round.stop == len(messages)
                start = tool_round.start if whole else tool_round.stop
        return [*messages[:head], *messages[start:]]
