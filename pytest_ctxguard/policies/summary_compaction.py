"""Replace the older part of a session by a summary, each time it grows past a trigger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.compacting import Compacted, Front, Means, Size, Summarise
from pytest_ctxguard.transcript.messages import Message

SUMMARY_NOTE = "[The earlier part of this session was left out; this summary stands for it:]"
SUMMARY_INSTRUCTION = (
    "Summarise the session above so that the work can go on without it. Keep every identifier, "
    "number, standing instruction and open question. Write nothing but the summary."
)


@dataclass(slots=True, kw_only=True)
class SummaryCompaction:
    """Keep the instructions, one summary of all that is old, and the newest messages.

    When a request would pass the trigger, the newest whole turns that fit the target stay, or
    else the current turn's user message and its newest tool rounds; what is older is summarised,
    together with the summary before. The gap between trigger and target is what keeps it from
    summarising at every call.

    A summary is kept only if it makes the request smaller. When the summariser raises, returns
    nothing, or something too long, the request is sent as it was, and the next attempt waits
    until it has grown by a tenth. It remembers its summaries, and makes them anew for a history
    that does not extend the one it saw last.

    What fails to be summarised is sent whole, over the budget if need be. With
    ``Pipeline(SummaryCompaction(), CountedThreeStepFit())`` it is then fitted instead.

    Attributes:
        trigger: share of the budget beyond which a summary is made.
        target: share of the budget that the newest messages may have after it.
        instruction: the last message the summariser is shown; empty leaves it out.
        note: first line of the summary's message, which tells the model what it is.
    """

    trigger: float = 0.8
    target: float = 0.4
    instruction: str = SUMMARY_INSTRUCTION
    note: str = SUMMARY_NOTE
    _state: Compacted = field(default_factory=Compacted, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.target < self.trigger <= 1:
            raise UsageError(
                f"{type(self).__name__}(trigger={self.trigger}, target={self.target}): both are "
                "shares of the budget, 0 < target < trigger <= 1. With both alike it would "
                "summarise at every call"
            )

    def __call__(
        self, messages: Sequence[Message], budget: int, *, count: Size, summarise: Summarise
    ) -> list[Message]:
        """Return the messages to send.

        Args:
            messages: the history.
            budget: tokens a request may have.
            count: exact tokens of a whole request.
            summarise: from messages to the text of their summary.
        """
        return self.sent(messages, budget, count=count, summarise=summarise, front=self.summarised)

    def sent(
        self,
        messages: Sequence[Message],
        budget: int,
        *,
        count: Size,
        summarise: Summarise,
        front: Front,
    ) -> list[Message]:
        """Return the messages to send, with a front of the caller's in the summary's place."""
        means = Means(
            budget=budget,
            trigger=int(budget * self.trigger),
            target=int(budget * self.target),
            size=count,
            summarise=summarise,
            instruction=self.instruction,
            front=front,
        )
        return self._state.request(messages, means)

    def summarised(self, covered: Sequence[Message], summary: str) -> list[Message]:
        """Return the message that carries a summary."""
        return [{"role": "user", "content": f"{self.note}\n{summary}" if self.note else summary}]
