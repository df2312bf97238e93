"""Trim whole user turns only: the trimmer of report A that let sub-agents grow until refused."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.policies.three_step_fit import TRIMMED_NOTE
from pytest_ctxguard.tokens.estimators import MessageEstimator, chars_per_4
from pytest_ctxguard.transcript.messages import Message, instructions, turn_starts


@dataclass(slots=True, kw_only=True)
class UserTurnTrimmer:
    """Cut at the start of user messages only, by estimate: **a reference of what fails**.

    It sends the instructions, the first user message, a note, and the newest complete turns that
    fit, so it never parts a tool call from its result. But a sub-agent has one user message and
    so nowhere to cut: it is sent whole, whatever its size, until the provider refuses it. Its
    estimate takes every text for English, too. :class:`ThreeStepFit` is the repair of both.

    Attributes:
        estimator: what estimates messages and tool definitions.
        note: what tells the model that earlier turns were left out.
    """

    estimator: MessageEstimator = field(
        default_factory=lambda: MessageEstimator(chars_per_4), repr=False
    )
    note: str = TRIMMED_NOTE

    def __call__(
        self, messages: Sequence[Message], budget: int, *, tools: Sequence[Mapping[str, Any]] = ()
    ) -> list[Message]:
        """Return the messages to send; ``budget`` covers the tool definitions too."""
        room = budget - self.estimator.request((), tools)
        users = turn_starts(messages)
        if len(users) < 2 or self.estimator.request(messages) <= room:
            return list(messages)
        head = [*messages[: instructions(messages)], messages[users[0]]]
        if self.note:
            head.append({"role": "user", "content": self.note})

        def request(start: int) -> list[Message]:
            return [*head, *messages[start:]]

        turns = users[1:]
        oldest = bisect_left(
            turns[:-1], True, key=lambda start: self.estimator.request(request(start)) <= room
        )
        return request(turns[oldest])
