"""Fit a history into a budget in three steps, as report A does for long agent turns.

A step is tried only when the one before was not enough:

1. *Clear old tool results.* The content of the oldest results becomes a short note; the newest
   stay whole. Results are cleared in batches, so that the cleared start of the request stays the
   same over several calls and a provider's prefix cache keeps working.
2. *Keep whole turns.* The instructions, the first user message, a note, and the newest complete
   turns that fit.
3. *Keep whole tool rounds.* Inside one long turn: the instructions, the first user message, a
   note, the turn's own user message, and the newest complete tool rounds that fit.

The note of steps 2 and 3 has role ``user`` and follows the first user message: OpenAI takes two
user messages in a row, a call or another user message may follow, a system message in the middle
of a request would be refused elsewhere, and the request still ends in what the model is to answer.

When even the least of step 3 does not fit (instructions, first and current user message, note,
newest round with its newest result whole) that least is returned, over budget: without the round
the agent would only ask for the same result again, for ever.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.cutting import cut_points
from pytest_ctxguard.tokens.estimators import MessageEstimator
from pytest_ctxguard.transcript.messages import Message, instructions, turn_starts

CLEARED_NOTE = (
    "[This tool result was cleared to keep the session within the model's context. "
    "Run the tool again if you need it.]"
)
TRIMMED_NOTE = (
    "[Earlier messages of this session were left out here to keep it within the model's context.]"
)
CLEAR_BATCH = 4

Size = Callable[[Sequence[Message]], int]


@dataclass(slots=True, kw_only=True)
class ThreeStepFit:
    """The three-step fit, by estimate.

    It holds nothing but remembered estimates, so its answer depends only on what it is given.
    Its requests keep to the budget by its own estimate (or are the least of step 3); by an exact
    count they may not.

    Attributes:
        clear_batch: how many tool results are cleared at a time.
        estimator: what estimates messages and tool definitions.
    """

    clear_batch: int = CLEAR_BATCH
    estimator: MessageEstimator = field(default_factory=MessageEstimator, repr=False)

    def __post_init__(self) -> None:
        _check_batch(self.clear_batch)

    def __call__(
        self, messages: Sequence[Message], budget: int, *, tools: Sequence[Mapping[str, Any]] = ()
    ) -> list[Message]:
        """Return the messages to send; ``budget`` covers the tool definitions too."""
        definitions = self.estimator.request((), tools)
        return fit(
            messages,
            budget,
            size=lambda request: definitions + self.estimator.request(request),
            estimate=self.estimator,
            clear_batch=self.clear_batch,
        )


@dataclass(slots=True, kw_only=True)
class CountedThreeStepFit:
    """The three-step fit, by an exact count of whole requests.

    The estimator decides only which results are worth clearing; whether a request fits, and how
    many of the newest results fill a quarter of the budget, is counted.

    Attributes:
        clear_batch: how many tool results are cleared at a time.
        estimator: what tells a result much larger than the note.
    """

    clear_batch: int = CLEAR_BATCH
    estimator: MessageEstimator = field(default_factory=MessageEstimator, repr=False)

    def __post_init__(self) -> None:
        _check_batch(self.clear_batch)

    def __call__(self, messages: Sequence[Message], budget: int, *, count: Size) -> list[Message]:
        """Return the messages to send; ``count`` gives the exact tokens of a whole request."""
        return fit(
            messages, budget, size=count, estimate=self.estimator, clear_batch=self.clear_batch
        )


def fit(
    messages: Sequence[Message],
    budget: int,
    *,
    size: Size,
    estimate: Callable[[Message], int],
    clear_batch: int = CLEAR_BATCH,
) -> list[Message]:
    """Return the messages to send: those given, or notes in their place.

    Args:
        messages: the history.
        budget: tokens the request may have.
        size: tokens of a whole request, growing with its messages. It is asked a few dozen times
            at most, whatever the length of the history.
        estimate: tokens of one message; only tells which results are worth clearing.
        clear_batch: how many results are cleared at a time.
    """
    if size(messages) <= budget:
        return list(messages)
    worth = _worth_clearing(messages, budget, size, estimate)
    cleared = _clear_old_results(messages, worth, lambda m: size(m) <= budget, clear_batch)
    if size(cleared) <= budget:
        return cleared
    return _keep_newest(cleared, lambda m: size(m) <= budget)


def _check_batch(clear_batch: int) -> None:
    if clear_batch < 1:
        raise UsageError(f"clear_batch={clear_batch} clears nothing; give at least 1")


def _with_note(message: Message, note: str = CLEARED_NOTE) -> Message:
    return {**message, "content": note}


def _worth_clearing(
    messages: Sequence[Message], budget: int, size: Size, estimate: Callable[[Message], int]
) -> list[int]:
    """Return the tool results that may be cleared, oldest first, as message indices.

    The newest results that fit in a quarter of the budget are not among them, nor the newest one
    ever. A result's share is what the request shrinks by when it is emptied: that is right for
    any chat template, also one that refuses a lone tool message. Results no more than twice as
    large as the note are left alone: clearing them would save little and change the prefix.
    """
    results = [i for i, message in enumerate(messages) if message.get("role") == "tool"]
    if not results:
        return []
    whole = size(messages)

    def within_a_quarter(start: int) -> bool:
        emptied = list(messages)
        for i in results[start:]:
            emptied[i] = _with_note(messages[i], "")
        return whole - size(emptied) <= budget // 4

    newest = bisect_left(range(len(results) - 1), True, key=within_a_quarter)
    return [
        i for i in results[:newest] if estimate(messages[i]) > 2 * estimate(_with_note(messages[i]))
    ]


def _clear_old_results(
    messages: Sequence[Message],
    worth: Sequence[int],
    fits: Callable[[Sequence[Message]], bool],
    batch: int,
) -> list[Message]:
    """Clear the fewest batches that fit, or all; the incomplete last one only if it must be.

    Clearing an incomplete batch changes the prefix again when the batch fills up, but that costs
    less than losing turns or rounds.
    """

    def cleared(batches: int) -> list[Message]:
        request = list(messages)
        for i in worth[: batches * batch]:
            request[i] = _with_note(messages[i])
        return request

    batches = -(-len(worth) // batch)
    return cleared(bisect_left(range(batches), True, key=lambda n: fits(cleared(n))))


def _keep_newest(
    messages: Sequence[Message], fits: Callable[[Sequence[Message]], bool]
) -> list[Message]:
    """Keep the newest turns that fit, or else the newest rounds of the current turn."""
    users = turn_starts(messages)
    head = [*range(instructions(messages)), *users[:1]]

    def request(always: Sequence[int], start: int) -> list[Message]:
        kept = [*always, *range(start, len(messages))]
        parts = [messages[i] for i in kept]
        if len(kept) < len(messages):
            parts.insert(len(head), {"role": "user", "content": TRIMMED_NOTE})
        return parts

    turns = users[1:]
    oldest = bisect_left(turns, True, key=lambda start: fits(request(head, start)))
    if oldest < len(turns):
        return request(head, turns[oldest])
    always = [*head, *turns[-1:]]
    rounds = cut_points(messages, always[-1] + 1 if always else 0)
    if not rounds:
        return request(always, len(messages))
    oldest = bisect_left(rounds[:-1], True, key=lambda start: fits(request(always, start)))
    return request(always, rounds[oldest])
