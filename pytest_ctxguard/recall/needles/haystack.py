"""A haystack as a transcript: one message that holds all, or a turn for each record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pytest_ctxguard.transcript.model import Fact, Transcript

Layout = Literal["message", "turns"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

NEEDLE = "needle"
"""Name of the fact that a trial asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Haystack:
    """Records, one of which is asked for.

    Attributes:
        system: what the model is told.
        whole: the text that holds every record.
        parts: the text of each record by itself, in the same order.
        gold: position of the record that is asked for.
        question: asks for its value.
        value: the answer.
        look_alikes: values of the other records that have the answer's shape.
        shape: a regular expression for the answer's shape.
    """

    system: str
    whole: str
    parts: tuple[str, ...]
    gold: int
    question: str
    value: str
    look_alikes: tuple[str, ...]
    shape: str

    def transcript(self, name: str, *, layout: Layout) -> Transcript:
        """Return it as a session with one fact, which is asked for in one wording.

        Args:
            name: of the transcript.
            layout: ``message``: one user message holds all records, and the next one asks.
                ``turns``: the user states each record in a turn of its own, and the assistant
                acknowledges it, so that a policy has something to cut.
        """
        stated = [self.whole] if layout == "message" else self.parts
        messages: list[Mapping[str, Any]] = [{"role": "system", "content": self.system}]
        for text in stated:
            messages.append({"role": "user", "content": text})
            if layout == "turns":
                messages.append({"role": "assistant", "content": "Noted."})
        fact = Fact(
            name=NEEDLE,
            value=self.value,
            kind="identifier",
            planted_at=1 if layout == "message" else 1 + 2 * self.gold,
            asked_at=len(messages),
            wordings=(self.question,),
            look_alikes=self.look_alikes,
            shape=self.shape,
        )
        messages.append({"role": "user", "content": self.question})
        return Transcript(name=name, messages=tuple(messages), facts=(fact,))
