"""A sample of needles: cells of trials, in a fixed order, from a stated generator and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.asking import ANSWER_TOKENS
from pytest_ctxguard.recall.needles.depths import check_depth, record_at
from pytest_ctxguard.recall.needles.haystack import Layout
from pytest_ctxguard.recall.needles.recipe import VERSION, Recipe
from pytest_ctxguard.replay.values import digest, probe_point
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript

LONG_ANSWERS = {"pairs": 96}
"""Longest answers, in tokens, where a probe's are too short: a UUID takes about 25, and an answer
may say the key first."""


class Needle(Protocol):
    """One trial to be: a transcript with one fact, which is asked for in one wording."""

    @property
    def transcript(self) -> Transcript:
        """The transcript."""
        ...

    def __str__(self) -> str:
        """Return what rebuilds it: a recipe, or an id within its sample."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One cell of a sample.

    Attributes:
        name: stable, such as ``records=25:depth=0.5``; empty where the sample has no cells.
        needles: trial id -> the trial, in the order they are asked.
        depth: of the needle, where the cell has one.
        records: length of the haystack, where the cell has one.
    """

    name: str
    needles: Mapping[str, Needle]
    depth: float | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is to be asked.

    Attributes:
        haystack: its name, for reports.
        population: what the trials are drawn from, in words.
        cells: in report order.
        fingerprint: what the trials depend on, beside each cell's name and their number.
        seed: of the draw; ``None``: nothing was drawn here.
        answer_tokens: longest answer; that of a tool probe may be longer.
    """

    haystack: str
    population: str
    cells: tuple[Planned, ...]
    fingerprint: Mapping[str, str]
    seed: int | None = None
    answer_tokens: int = ANSWER_TOKENS


def drawn(
    haystack: str,
    *,
    records: Sequence[int],
    depths: Sequence[float],
    trials: int,
    seed: int,
    layout: Layout = "message",
    look_alikes: int | None = None,
) -> Sample:
    """Return trials of a drawn haystack: a cell for each length and depth, on the same draws.

    Args:
        haystack: ``register`` or ``pairs``.
        records: lengths.
        depths: of the record asked for.
        trials: per cell; trial ``k`` of every cell is the same draw.
        seed: another seed is another sample.
        layout: see :class:`~pytest_ctxguard.recall.needles.haystack.Haystack`.
        look_alikes: how many other records look like the answer; default: all.

    Raises:
        UsageError: no haystack is like that, or two cells would ask the same questions.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise UsageError(f"trials={trials!r}: a cell has 1 or more trials")
    if not records or len(set(records)) < len(records):
        raise UsageError(f"lengths={list(records)}: give one or more lengths, each once")
    cells = []
    for length in records:
        for depth in depths:
            first = Recipe(
                haystack=haystack,
                records=length,
                depth=depth,
                seed=seed,
                trial=0,
                layout=layout,
                look_alikes=look_alikes,
            )
            first.transcript  # noqa: B018 - what cannot be built is said now
            name = f"records={length}:depth={first.depth}"
            cells.append(
                Planned(
                    name=name,
                    needles={f"{name}:trial={k}": replace(first, trial=k) for k in range(trials)},
                    depth=first.depth,
                    records=length,
                )
            )
        _check_apart(depths, length)
    alike = "every other record" if look_alikes is None else f"{look_alikes} other records"
    return Sample(
        haystack=haystack,
        population=f"{haystack} haystacks, drawn as their recipes say; {alike} alike",
        cells=tuple(cells),
        fingerprint={
            "haystack": f"{haystack} {VERSION}",
            "layout": layout,
            "look_alikes": "all" if look_alikes is None else str(look_alikes),
            "seed": str(seed),
        },
        seed=seed,
        answer_tokens=LONG_ANSWERS.get(haystack, ANSWER_TOKENS),
    )


def uncut(transcript: Transcript) -> tuple[Message, ...]:
    """Return a trial's prompt before any policy: the history, and the question."""
    (fact,) = transcript.facts
    (wording,) = fact.wordings
    before = transcript.messages[: probe_point(transcript, fact)]
    return (*before, {"role": "user", "content": wording})


def prompt_digest(messages: Sequence[Message], transcript: Transcript) -> str:
    """Return the hash of a trial's request; equal requests have equal ones."""
    return digest([list(messages), list(transcript.tools)])


def _check_apart(depths: Sequence[float], records: int) -> None:
    taken: dict[int, float] = {}
    for depth in depths:
        place = record_at(check_depth(depth), records)
        if place in taken:
            raise UsageError(
                f"depths {taken[place]} and {depth} are the same of {records} records, so two "
                "cells would ask the same; take fewer depths, or more records"
            )
        taken[place] = depth
