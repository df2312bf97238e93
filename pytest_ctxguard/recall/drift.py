"""Recall after one, two, … cycles of compaction: each summary is made of the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.again import repeater
from pytest_ctxguard.replay.fate import Fate
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.run import run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.transcript.messages import turn_starts
from pytest_ctxguard.transcript.model import Fact

Ask = Callable[[Replay, str], Answers]
"""Asks every wording of a replay's fact: :meth:`Interviewer.answers`, for one."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A fact, asked for after some cycles of compaction.

    Attributes:
        fact: its name.
        cycles: compactions at the calls since it was planted.
        turn: the turn whose user message the probe took the place of; beyond the last: appended.
        carried: whether every probe request has the value.
        fate: what the summaries made of it.
        answers: the model's answers; ``None``: nobody was asked.
    """

    fact: str
    cycles: int
    turn: int
    carried: bool
    fate: Fate
    answers: Answers | None


def compactions(replay: Replay) -> tuple[int, ...]:
    """Return the history length of each call at which a summary took the place of messages."""
    found = []
    before: set[int] = set()
    for step in replay.steps:
        origins = set(step.request.origins)
        gone = {index for index in range(step.call.history) if Origin(index) not in origins}
        made = any(not summary.failed for summary in step.request.summaries)
        if made and gone - before:
            found.append(step.call.history)
        before = gone
    return tuple(found)


def drift(plan: Plan, *, ask: Ask | None = None) -> tuple[Cycle, ...]:
    """Ask for each fact at the first user message after each compaction since it was planted.

    Before the first compaction it is asked for once, too: at the user message after planting.

    Args:
        plan: the replay; its policy summarises. It is run twice, so the summariser should be one
            that gives the same summary again.
        ask: asks the model; without it, only what is carried is told.

    Raises:
        UsageError: there are no facts, or nothing was compacted.
    """
    transcript = plan.transcript
    if not transcript.facts:
        raise UsageError(f"transcript {transcript.name!r} has no facts; there is nothing to ask")
    again = repeater(plan)
    cut = compactions(run(plan))
    if not cut:
        raise UsageError(
            f"nothing of {transcript.name!r} was compacted within a budget of {plan.budget}; give "
            "a policy that summarises, and a budget below the session's size"
        )
    starts = turn_starts(transcript.messages)
    asked = [(fact, *each) for fact in transcript.facts for each in _points(fact, cut, starts)]
    probes = [
        replace(fact, name=f"{fact.name} after {cycles} at {turn}", asked_at=point)
        for fact, cycles, turn, point in asked
    ]
    replay = again(transcript=transcript.with_facts(*probes))
    return tuple(
        Cycle(
            fact=fact.name,
            cycles=cycles,
            turn=turn,
            carried=replay.carried(probe.name).at("probe"),
            fate=replay.fate(probe.name),
            answers=ask and ask(replay, probe.name),
        )
        for (fact, cycles, turn, _), probe in zip(asked, probes, strict=True)
    )


def _points(
    fact: Fact, cut: tuple[int, ...], starts: tuple[int, ...]
) -> Iterator[tuple[int, int, int | None]]:
    """Yield cycles, turn and place of each probe of a fact.

    Only the last of the compactions between two user messages can be asked after.
    """
    known = -1
    later = [(turn, start) for turn, start in enumerate(starts, 1) if start > fact.planted_at]
    for turn, point in [*later, (len(starts) + 1, None)]:
        cycles = sum(fact.planted_at < at and (point is None or at <= point) for at in cut)
        if cycles > known:
            yield cycles, turn, point
            known = cycles
