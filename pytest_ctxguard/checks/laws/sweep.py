"""Which settings of a policy are run on one history.

Every knob value, and of the budgets: all of 1 to the history's tokens and one more when the
history is small (:data:`SMALL`); else an even grid (:data:`GRID`; of a very long history halves of
halves, as many as are allowed), and what the newest messages have in tokens, one, two or more of
them, and one token less; and then, as long as the work allowed lasts, the middles between
neighbours that come to something different, so that a budget at which the policy changes its mind
is found together with the budget before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from pytest_ctxguard.checks.laws.runs import Run, run_policy
from pytest_ctxguard.checks.laws.subject import Setting, Subject
from pytest_ctxguard.checks.laws.terms import Terms
from pytest_ctxguard.transcript.messages import Message, instructions
from pytest_ctxguard.transcript.model import Transcript

SMALL = 64  # tokens
GRID = 8


def sweep(
    subject: Subject,
    transcript: Transcript,
    *,
    terms: Terms,
    budgets: Sequence[int] = (),
    calls: int,
    turn: int = 0,
) -> Iterator[Run]:
    """Run a policy on a history in its settings.

    Args:
        subject: the policy.
        transcript: the history.
        terms: who counts.
        budgets: those to run; none: as above.
        calls: how many calls of the policy are wanted at most. Knob values and given budgets that
            are left out for that are others at another ``turn``, and one setting is always run.
        turn: number of this sweep among those of one judgement.
    """
    runs = max(1, calls // max(1, len(transcript.calls)))
    knobs = _share(subject.knobs, runs, turn)
    each = max(1, runs // len(knobs))
    for values in knobs:
        if "budget" in values:
            settings: Sequence[Setting] = [Setting(values, values["budget"])]
        elif "budget" not in subject.takes:
            settings = [Setting(values)]
        elif budgets:
            settings = [Setting(values, budget) for budget in _share(budgets, each, turn)]
        else:
            yield from _by_bisection(
                subject, transcript, terms=terms, knobs=values, runs=each, turn=turn
            )
            continue
        for setting in settings:
            yield run_policy(subject, setting, terms=terms, transcript=transcript)


def _share(values: Sequence[Any], most: int, turn: int) -> Sequence[Any]:
    """Return at most so many values, evenly spread, others at each turn."""
    if len(values) <= most:
        return values
    step = -(-len(values) // most)
    return values[turn % step :: step]


def _by_bisection(
    subject: Subject, transcript: Transcript, *, terms: Terms, knobs: Any, runs: int, turn: int
) -> Iterator[Run]:
    def at(budget: int) -> Run:
        return run_policy(subject, Setting(knobs, budget), terms=terms, transcript=transcript)

    last = transcript.messages[: transcript.calls[-1].history]
    top = terms.counter.count(last, tools=transcript.tools) + 1
    if top <= SMALL:
        yield from map(at, range(1, top + 1))
        return
    done: dict[int, Any] = {}
    wanted = [top >> number or 1 for number in range(runs)]  # where all fits comes first
    if runs > GRID:
        grid = [top * number // GRID for number in range(GRID, 0, -1)]
        wanted = [*grid, *_edges(last, terms, transcript, most=runs // 2, turn=turn), 1]
    for budget in wanted:
        if budget not in done and len(done) < runs:
            run = at(budget)
            done[budget] = run.outcome
            yield run
    while len(done) < runs:
        middle = _widest_change(done)
        if middle is None:
            return
        run = at(middle)
        done[middle] = run.outcome
        yield run


def _edges(
    history: Sequence[Message], terms: Terms, transcript: Transcript, *, most: int, turn: int
) -> list[int]:
    """Return what the newest messages have in tokens, however many they are, and one less.

    Of a long history only some are counted, for each takes as long as the history is.
    """
    lead = instructions(history)
    starts = _share(range(lead + 1, len(history)), max(1, most // 2), turn)
    sizes = {
        terms.counter.count((*history[:lead], *history[start:]), tools=transcript.tools)
        for start in starts
    }
    return sorted({budget for size in sizes for budget in (size, size - 1) if budget > 0})


def _widest_change(done: dict[int, Any]) -> int | None:
    """Return the middle of the widest gap whose two ends differ."""
    known = sorted(done)
    gaps = [
        (high - low, -low)
        for low, high in pairwise(known)
        if high - low > 1 and done[low] != done[high]
    ]
    if not gaps:
        return None
    width, low = max(gaps)
    return -low + width // 2
