"""Send the messages that plant the facts, and the current turn: the control of a policy table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.policies.cutting import turn_numbers
from pytest_ctxguard.transcript.messages import Message, instructions, tool_rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsOnly:
    """Keep the instructions, the messages at given places, and the current turn.

    No agent can do this, as it takes knowing what will be asked for. It shows what the model
    answers when nothing else is in the way, so that a zero elsewhere can be read as a zero.

    Attributes:
        planted_at: places in the history; of a tool round the whole round is kept. Those that
            the history has not reached yet are not missed.
    """

    planted_at: Sequence[int]

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send."""
        turns, planted = turn_numbers(messages), set(self.planted_at)
        for tool_round in tool_rounds(messages):
            if planted.intersection(tool_round):
                planted.update(tool_round)
        lead = instructions(messages)
        return [
            message
            for index, message in enumerate(messages)
            if index < lead or index in planted or turns[index] == turns[-1]
        ]
