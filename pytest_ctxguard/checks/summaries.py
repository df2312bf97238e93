"""What can be said of a policy's summaries without reading one: who asked what, when, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_ctxguard.checks.finding import Finding
from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.replay.calls import Summary
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.replay.values import Replay, Request, Step
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.model import Fact

LITTLE = 10  # what came in since the last call is little when it is a tenth of the budget or less


@dataclass(frozen=True, slots=True)
class Loop:
    """Calls in a row at which the summariser was asked for little, or in vain.

    Attributes:
        steps: those calls.
    """

    steps: tuple[Step, ...]

    @property
    def smallest(self) -> int:
        """Tokens of the smallest request that came of it."""
        return min(step.request.tokens for step in self.steps)

    @property
    def asked(self) -> int:
        """How often the summariser was asked."""
        return sum(len(step.request.summaries) for step in self.steps)


def longest_loop(replay: Replay) -> Loop:
    """Return the longest run of calls at which the summariser was asked for little, or in vain.

    A summary that follows one at the call before is needed when much came in between, and helps
    when something is cut. Without a budget nobody can say what is much.
    """
    best: list[Step] = []
    row: list[Step] = []
    before: Step | None = None
    for step in replay.steps:
        if not step.request.summaries:
            row = []
        else:
            needed = step.request.cut and before is not None and _much(replay, before, step)
            row = [step] if needed else [*row, step]
        best = max(best, row, key=len)
        before = step
    return Loop(tuple(best))


def _much(replay: Replay, before: Step, step: Step) -> bool:
    came_in = step.history_tokens - before.history_tokens
    return replay.budget is not None and LITTLE * came_in > replay.budget


def grown(replay: Replay) -> tuple[Step, ...]:
    """Return the steps at which summarising made the request larger than what was given."""
    return tuple(
        step
        for step in replay.steps
        if step.request.summaries and step.request.tokens > step.request.given_tokens
    )


def dropped(replay: Replay) -> Iterator[tuple[Step, tuple[int, ...]]]:
    """Yield each step with the history indices that were in what it was given, and not sent."""
    left: set[int] = set()
    upto = 0
    for step in replay.steps:
        given = left | set(range(upto, step.call.history))
        sent = {origin.index for origin in step.request.origins if origin.index is not None}
        yield step, tuple(sorted(given - sent))
        if replay.persists:
            left, upto = sent, step.call.history


def not_shown(replay: Replay) -> Iterator[tuple[Fact, Step, tuple[Summary, ...]]]:
    """Yield each fact that left the requests before any summariser had been shown it.

    With it come the step at which it was gone, and the summaries asked for until then.
    """
    for fact in replay.transcript.facts:
        asked: list[Summary] = []
        for step in replay.steps:
            asked += step.request.summaries
            if step.call.history <= fact.planted_at or not asked:
                continue
            if any(_mentions(fact, summary) for summary in step.request.summaries):
                break
            if not _carries(step.request, fact):
                yield fact, step, tuple(asked)
                break


def _carries(request: Request, fact: Fact) -> bool:
    if Origin(fact.planted_at) in request.origins:
        return True
    return any(fact.mentions(full_text(message)) for message in request.messages)


def _mentions(fact: Fact, summary: Summary) -> bool:
    return any(fact.mentions(full_text(message)) for message in summary.shown)


def loop_finding(case: Case, loop: Loop, *, rule: str, allowed: int, where: str = "") -> Finding:
    """Say that the summariser is asked again and again."""
    first, last = loop.steps[0].call.index, loop.steps[-1].call.index
    budget = case.replay.budget
    over = budget is not None and loop.smallest > budget
    stuck = f", never below the budget of {budget}" if over else ""
    return Finding(
        rule=rule,
        what=f"the summariser is asked at {len(loop.steps)} calls in a row",
        where=case.place(f"calls {first} to {last}", *filter(None, [where])),
        measured=f"{loop.asked} summariser calls; the smallest request has {loop.smallest} "
        f"tokens{stuck}",
        allowed=f"{allowed} calls in a row, where little comes in or nothing is cut",
        why="each summary is a model call that reads the history, and it changes the whole prefix",
        remedy="summarise down to a target well below the trigger; after a summary that failed "
        "or saved nothing, do not ask again until more has come in",
        requests=len(loop.steps),
    )


def grew_finding(case: Case, steps: Sequence[Step], *, rule: str, where: str = "") -> Finding:
    """Say that summarising made a request larger."""
    worst = max(steps, key=lambda step: step.request.tokens - step.request.given_tokens)
    request = worst.request
    return Finding(
        rule=rule,
        what="the summary is larger than what it replaces",
        where=case.place(f"call {worst.call.index}", *filter(None, [where])),
        measured=f"{request.given_tokens} tokens before, {request.tokens} after; "
        f"{len(steps)} requests grew",
        allowed="fewer tokens after than before, or the history as it was",
        why="the policy ran to save tokens, paid for a summary, and sends more",
        remedy="count both, and keep the history where the summary saves nothing",
        requests=len(steps),
    )
