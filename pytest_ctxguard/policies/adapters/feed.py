"""What a framework that keeps the messages itself has been given so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, copy_json


@dataclass(slots=True)
class Feed:
    """Tells which messages of a growing history are new.

    Attributes:
        adapter: the adapter's name in ``pytest_ctxguard.adapt``, for the error.
    """

    adapter: str
    _given: list[Message] = field(default_factory=list)

    def new(self, history: Sequence[Message]) -> range:
        """Return the places of the messages that were not there at the last call.

        Raises:
            UsageError: this history does not go on from the last one.
        """
        for place, was in enumerate(self._given):
            if place >= len(history) or history[place] != was:
                now = "is gone" if place >= len(history) else "is another"
                raise UsageError(
                    f"adapt.{self.adapter} keeps its messages from call to call, and this history "
                    f"does not go on from the last one: message {place} {now}. Remedy: a new "
                    "policy for each history; what the adapter returns makes one when called"
                )
        new = range(len(self._given), len(history))
        self._given += [copy_json(history[place]) for place in new]
        return new
