"""The bookkeeping of compaction: what a summary covers, when the next one is made, what is sent.

A compaction is a fold over the calls of a session: the summaries made at earlier calls decide
what later ones are made of. It is folded anew where the history is not the one seen so far, so
that what is sent depends on the history alone (and on what the summariser says).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_ctxguard.policies.cutting import cut_points
from pytest_ctxguard.transcript.messages import Message, instructions, turn_starts

BACK_OFF = 1.1  # a request must grow this much before the next attempt, when one was no help

Size = Callable[[Sequence[Message]], int]
Summarise = Callable[[Sequence[Message]], Any]
Front = Callable[[Sequence[Message], str], list[Message]]
"""From the messages covered and their summary to the messages that stand for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What one call of a compacting policy works with.

    Attributes:
        budget: tokens a request may have.
        trigger: tokens beyond which a summary is made.
        target: tokens that the newest messages may have after it.
        size: tokens of a whole request.
        summarise: from messages to a text.
        instruction: the last message that the summariser is shown.
        front: what stands for the messages covered.
    """

    budget: int
    trigger: int
    target: int
    size: Size
    summarise: Summarise
    instruction: str
    front: Front


@dataclass(frozen=True, slots=True)
class Point:
    """How far a session is covered at one of its calls.

    Attributes:
        at: messages before that call.
        covered: messages that the summary stands for, the instructions included.
        summary: the newest summary; empty before the first.
        wait: tokens a request must have before a summary is tried again.
    """

    at: int = 0
    covered: int = 0
    summary: str = ""
    wait: int = 0


@dataclass(slots=True)
class Compacted:
    """A session on its way, as far as it was seen.

    Attributes:
        seen: the history of the last call.
        budget: the budget it was compacted under.
        settled: how it stood before that call.
        newest: how it stood at that call.
    """

    seen: list[Message] = field(default_factory=list)
    budget: int = 0
    settled: Point = Point()
    newest: Point = Point()

    def request(self, messages: Sequence[Message], means: Means) -> list[Message]:
        """Return the messages to send, with a new summary where one is due."""
        point = self._known(messages, means)
        for end in _calls(messages):
            if end > point.at:
                self.settled, point = point, _stepped(messages[:end], point, means)
        self.seen, self.budget, self.newest = list(messages), means.budget, point
        return _sent(messages, point, means)

    def _known(self, messages: Sequence[Message], means: Means) -> Point:
        """Return what is known of a history already.

        The last call counts only if an answer followed it: a question asked on the side, or half
        a tool round, must not decide what is sent later.
        """
        seen = len(self.seen)
        if self.budget != means.budget or self.seen != list(messages[:seen]):
            return Point()
        answered = len(messages) == seen or messages[seen].get("role") == "assistant"
        return self.newest if answered else self.settled


def _stepped(history: Sequence[Message], point: Point, means: Means) -> Point:
    """Make a summary at one call, if it is due, and keep it if it makes the request smaller."""
    size = means.size(_sent(history, point, means))
    point = replace(point, at=len(history))
    if size <= max(means.trigger, point.wait):
        return point
    cut = _cut(history, point.covered, means)
    text = _ask(_sent(history[:cut], point, means), means) if cut > point.covered else ""
    if text:
        made = replace(point, covered=cut, summary=text)
        after = means.size(_sent(history, made, means))
        if after < size:
            point, size = made, after
    return replace(point, wait=0 if size <= means.trigger else int(size * BACK_OFF))


def _calls(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the length of the history before each call, the one now asked for last."""
    yield from (i for i, m in enumerate(messages) if i and m.get("role") == "assistant")
    yield len(messages)


def _sent(history: Sequence[Message], point: Point, means: Means) -> list[Message]:
    """Return instructions, what stands for the messages covered, and the messages since."""
    if not point.covered:
        return list(history)
    lead, task = instructions(history), _task(history, point.covered)
    gone = [history[i] for i in range(lead, point.covered) if i not in task]
    kept = [history[i] for i in task]
    front = means.front(gone, point.summary)
    return [*history[:lead], *front, *kept, *history[point.covered :]]


def _task(history: Sequence[Message], cut: int) -> list[int]:
    """Return the user message of the turn that a cut is inside of; it is kept verbatim."""
    starts = turn_starts(history)
    if cut in starts or cut >= len(history):
        return []
    return [start for start in starts if start < cut][-1:]


def _cut(history: Sequence[Message], covered: int, means: Means) -> int:
    """Return where the newest messages begin that fit the target; at least the newest round."""
    lead, starts = instructions(history), turn_starts(history)
    inner = cut_points(history, starts[-1] + 1 if starts else lead)
    points = [p for p in (*starts, *inner) if p > max(covered, lead)]
    if not points:
        return covered

    def fits(point: int) -> bool:
        kept = [history[i] for i in _task(history, point)]
        return means.size([*history[:lead], *kept, *history[point:]]) <= means.target

    return points[bisect_left(points[:-1], True, key=fits)]


def _ask(sent: Sequence[Message], means: Means) -> str:
    """Return a summary of what is sent now, instructions left out; nothing if there is none.

    A summariser that fails must not cost the session.
    """
    shown = sent[instructions(sent) :]
    asked = [*shown, {"role": "user", "content": means.instruction}]
    try:
        answer = means.summarise(asked if means.instruction else list(shown))
    except Exception:  # whatever a model call can raise; the request is then sent as it was
        return ""
    return answer.strip() if isinstance(answer, str) else ""
