"""The replays of a run as rows: one for each policy of a transcript, however many tests ran it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from pytest_ctxguard.report.figures import FactFigures, ReplayFigures
from pytest_ctxguard.report.run import Run, Subject, TestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One replay, with what all tests that ran it asked of it.

    Attributes:
        transcript: its name.
        name: the policy, its label and its budget.
        tests: node ids of the tests.
        figures: the replay's.
    """

    transcript: str
    name: str
    tests: tuple[str, ...]
    figures: ReplayFigures

    @property
    def title(self) -> str:
        """What it is called: transcript / policy."""
        return " / ".join(filter(None, (self.transcript, self.name)))

    @property
    def asked(self) -> tuple[tuple[str, int], ...]:
        """Each fact that was asked for, and in how many wordings."""
        facts = self.figures.facts
        return tuple((fact.name, fact.asked) for fact in facts if fact.answered is not None)


def by_transcript(run: Run) -> tuple[tuple[Measured, ...], ...]:
    """Return the replays of a run, grouped by transcript and counter, both sorted.

    Two tests that ran one policy alike make one row; if their figures differ, two.
    """
    rows: list[Measured] = []
    for test, subject in _replays(run.tests):
        assert subject.replay is not None  # noqa: S101 - of _replays
        row = Measured(
            transcript=subject.name,
            name=_name(subject),
            tests=(test.nodeid,),
            figures=subject.replay,
        )
        for place, other in enumerate(rows):
            if (joined := _joined(other, row)) is not None:
                rows[place] = joined
                break
        else:
            rows.append(row)
    rows.sort(key=_group)
    return tuple(tuple(group) for _, group in groupby(rows, key=_group))


def _group(row: Measured) -> tuple[str, str]:
    return row.transcript, row.figures.counter


def _replays(tests: Iterable[TestResult]) -> Iterable[tuple[TestResult, Subject]]:
    return ((t, s) for t in tests for s in t.subjects if s.replay is not None)


def _name(subject: Subject) -> str:
    replay = subject.replay
    budget = f"budget {replay.budget:,}" if replay is not None and replay.budget else ""
    policy = f"{subject.policy} [{subject.label}]" if subject.label else subject.policy
    return ", ".join(filter(None, (policy, budget))) or subject.kind


def _joined(one: Measured, other: Measured) -> Measured | None:
    """Return two rows as one, or nothing if they are not the same replay."""
    if (one.transcript, one.name) != (other.transcript, other.name):
        return None
    facts = []
    for first, second in zip(one.figures.facts, other.figures.facts, strict=False):
        asked = [fact for fact in (first, second) if fact.answered is not None]
        differ = len(asked) == 2 and first != second
        if differ or _kept(first) != _kept(second):
            return None
        facts.append(asked[0] if asked else first)
    if _alike(one.figures) != _alike(other.figures):
        return None
    by_call = one.figures.by_call or other.figures.by_call
    return replace(
        one,
        tests=tuple(dict.fromkeys((*one.tests, *other.tests))),
        figures=replace(one.figures, facts=tuple(facts), by_call=by_call),
    )


def _kept(fact: FactFigures) -> tuple[str, int, int]:
    return fact.name, fact.carried, fact.of


def _alike(figures: ReplayFigures) -> tuple[ReplayFigures, int]:
    return replace(figures, facts=(), by_call=()), len(figures.facts)
