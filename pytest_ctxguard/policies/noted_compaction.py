"""Compaction with notes: what a note-taker finds durable in a user message outlives it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.compacting import Size, Summarise
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.transcript.messages import Message, content_text, is_user

NOTES_NOTE = "[Notes taken from the messages left out:]"
NOTE_INSTRUCTION = (
    "Write down, in one short line, what must still be known later in this session because of the "
    "message above: a rule, a name, a number. If there is no such thing, answer NONE."
)
NOTHING = "NONE"


@dataclass(slots=True, kw_only=True)
class NotedCompaction:
    """Compact as :class:`SummaryCompaction` does, and carry notes before the summary.

    The note-taker is the summariser, shown one user message and an instruction. It is asked once
    for each user message, when a summary first stands for it. A note that fails is left out, and
    of a note only its first line is kept. When the notes are more than their room, the oldest go.

    Attributes:
        compaction: makes the summaries; its note and instruction hold.
        instruction: the last message the note-taker is shown.
        note: first line of the notes' message.
        room: share of the budget that the notes may have.
    """

    compaction: SummaryCompaction = field(default_factory=SummaryCompaction)
    instruction: str = NOTE_INSTRUCTION
    note: str = NOTES_NOTE
    room: float = 0.2
    _taken: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.room < 1:
            raise UsageError(f"NotedCompaction(room={self.room}): a share of the budget, below 1")

    def __call__(
        self, messages: Sequence[Message], budget: int, *, count: Size, summarise: Summarise
    ) -> list[Message]:
        """Return the messages to send; the arguments are those of :class:`SummaryCompaction`."""

        def front(covered: Sequence[Message], summary: str) -> list[Message]:
            asked = (self._note(m, summarise) for m in covered if is_user(m))
            lines = [line for line in asked if line]
            beyond = partial(self._beyond, room=int(budget * self.room), count=count)
            fitting = bisect_left(range(len(lines)), True, key=lambda n: not beyond(lines[n:]))
            return [
                *([self._noted(lines[fitting:])] if lines[fitting:] else []),
                *self.compaction.summarised(covered, summary),
            ]

        return self.compaction.sent(messages, budget, count=count, summarise=summarise, front=front)

    def _noted(self, lines: Sequence[str]) -> Message:
        content = "\n".join([*([self.note] if self.note else []), *(f"- {li}" for li in lines)])
        return {"role": "user", "content": content}

    def _beyond(self, lines: Sequence[str], *, room: int, count: Size) -> bool:
        return count([self._noted(lines)]) > room

    def _note(self, message: Message, summarise: Summarise) -> str:
        """Return the note of a user message, or nothing."""
        text = content_text(message)
        if text not in self._taken:
            try:
                answer = summarise([message, {"role": "user", "content": self.instruction}])
            except Exception:  # whatever a model call can raise; it is not asked again
                answer = ""
            line = next(iter(answer.strip().splitlines()), "") if isinstance(answer, str) else ""
            self._taken[text] = "" if line.strip(".").upper() == NOTHING else line
        return self._taken[text]
