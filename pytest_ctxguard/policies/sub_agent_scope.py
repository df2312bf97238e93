"""Send what a sub-agent would be given: the instructions and a few turns of the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.cutting import turn_numbers
from pytest_ctxguard.transcript.messages import Message, instructions

SCOPE_NOTE = (
    "[This is one task out of a longer session; its other turns were left out on purpose. "
    "If something needed is not here, say that it is not available.]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentScope:
    """Keep the instructions, a range of turns, and the current turn.

    What a sub-agent sees is bounded by its task, not by age: it cannot forget what it was never
    given, and it can say so.

    Attributes:
        first_turn: first turn in scope, counted from 1.
        last_turn: last turn in scope.
        note: what tells the model that there was more; it stands after the instructions.
    """

    first_turn: int
    last_turn: int
    note: str = SCOPE_NOTE

    def __post_init__(self) -> None:
        if not 1 <= self.first_turn <= self.last_turn:
            raise UsageError(
                f"SubAgentScope(first_turn={self.first_turn}, last_turn={self.last_turn}): turns "
                "are counted from 1, the first not after the last"
            )

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        lead, turns = instructions(messages), turn_numbers(messages)
        current = turns[-1] if turns else 0
        kept = [
            i
            for i in range(lead, len(messages))
            if self.first_turn <= turns[i] <= self.last_turn or turns[i] == current
        ]
        sent = [*messages[:lead], *(messages[i] for i in kept)]
        if self.note and len(sent) < len(messages):
            sent.insert(lead, {"role": "user", "content": self.note})
        return sent
