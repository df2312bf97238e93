"""Put a sub-agent's report in the place of the turns it worked through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.compacting import Summarise
from pytest_ctxguard.policies.cutting import turn_numbers
from pytest_ctxguard.transcript.messages import Message

REPORT_NOTE = "[A sub-agent worked through this part; its turns were left out. Its report:]"
REPORT_INSTRUCTION = (
    "Report to the agent that gave you this task. It sees nothing but your report: name every "
    "result, identifier and number it needs, and what is still open."
)


@dataclass(slots=True, kw_only=True)
class SubAgentReport:
    """Keep everything, but for a range of turns only what the sub-agent hands back.

    The other side of :class:`SubAgentScope`: what the main agent knows of that work. The report
    is asked for once, when the turns are over. If there is none, the turns stay.

    Attributes:
        first_turn: first turn of the sub-agent, counted from 1.
        last_turn: its last turn.
        instruction: the last message the summariser is shown, after the turns.
        note: first line of the report's message.
    """

    first_turn: int
    last_turn: int
    instruction: str = REPORT_INSTRUCTION
    note: str = REPORT_NOTE
    _turns: list[Message] = field(default_factory=list, init=False, repr=False, compare=False)
    _report: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.first_turn <= self.last_turn:
            raise UsageError(
                f"SubAgentReport(first_turn={self.first_turn}, last_turn={self.last_turn}): turns "
                "are counted from 1, the first not after the last"
            )

    def __call__(self, messages: Sequence[Message], *, summarise: Summarise) -> list[Message]:
        """Return the messages to send; ``summarise`` is the sub-agent, reporting."""
        numbers = turn_numbers(messages)
        inside = [i for i, n in enumerate(numbers) if self.first_turn <= n <= self.last_turn]
        if not inside or numbers[-1] <= self.last_turn:
            return list(messages)
        turns = [messages[i] for i in inside]
        if turns != self._turns:
            self._turns, self._report = turns, self._ask(turns, summarise)
        if not self._report:
            return list(messages)
        content = f"{self.note}\n{self._report}" if self.note else self._report
        report = {"role": "user", "content": content}
        return [*messages[: inside[0]], report, *messages[inside[-1] + 1 :]]

    def _ask(self, turns: Sequence[Message], summarise: Summarise) -> str:
        try:
            answer = summarise([*turns, {"role": "user", "content": self.instruction}])
        except Exception:  # whatever a model call can raise; the turns then stay
            return ""
        return answer.strip() if isinstance(answer, str) else ""
