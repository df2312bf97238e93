"""What a report shows of a replay and of a recall: figures, and no message but what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.checks.carried import everywhere
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.prefix.changes import Change
from pytest_ctxguard.recall.needles.values import Cell, Recall
from pytest_ctxguard.recall.outcomes import OUTCOMES
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.report.printable import printable_lines
from pytest_ctxguard.tokens.exactness import approximation

EXCERPT = 200  # characters of a text where two requests part


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Where a request parts from the one before it.

    Attributes:
        where: section, message and character.
        before: the text there, as it was sent.
        after: as it is sent now.
        why: the cause; empty where the text does not tell.
    """

    where: str
    before: str
    after: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """One call's request, in tokens.

    Attributes:
        call: its number, from 0.
        turn: the turn it belongs to, from 1.
        system: tokens of the system message and the template.
        tools: of the tool definitions.
        tool_results: of tool results.
        conversation: of all other messages.
        reused: of the beginning that the request before has, too.
        kind: what the request is to the one before it; of the first, ``first``.
        broken: where they part; ``None``: it begins with all of the one before.
    """

    call: int
    turn: int
    system: int
    tools: int
    tool_results: int
    conversation: int
    reused: int = 0
    kind: Literal["first", "identical", "extended", "truncated", "diverged", "new session"]
    broken: Break | None = None

    @property
    def tokens(self) -> int:
        """All of the request."""
        return self.system + self.tools + self.tool_results + self.conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFigures:
    """One fact of a replay.

    Attributes:
        name: the fact's.
        carried: requests that carry it, of those that ask for it; of recorded traffic, of all
            since it was planted.
        of: how many of them there are.
        sources: where it comes from there.
        answered: hits of the usable wordings; ``None``: nothing was asked.
        asked: usable wordings.
        outcomes: outcome -> number of usable wordings.
    """

    name: str
    carried: int
    of: int
    sources: tuple[str, ...] = ()
    answered: int | None = None
    asked: int = 0
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFigures:
    """One replay.

    Attributes:
        budget: tokens it was asked to stay within.
        counter: what counted.
        approximate: why these tokens are not the model's own; empty: they are.
        traffic: whether it is recorded traffic, of which no policy was run.
        calls: how many requests.
        billed: input tokens over all calls.
        final: tokens of the last request.
        facts: each fact of the transcript.
        by_call: each call; empty unless a report was asked for that shows them.
    """

    budget: int | None
    counter: str
    approximate: str
    traffic: bool
    calls: int
    billed: int
    final: int
    facts: tuple[FactFigures, ...] = ()
    by_call: tuple[CallFigures, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """One cell of a recall: its trials in counts.

    Attributes:
        name: in the baseline; empty where there is only one cell.
        title: for people.
        records: how many records the haystack has, where it has records.
        depth: of the needle, from 0 to 1.
        planned: trials that were planned.
        of: trials that were asked.
        hits: of them answered.
        low: of the Wilson interval of their rate, at 95 %.
        high: the same.
        outcomes: outcome -> number of trials.
        carried: trials whose request carries the needle.
        tokens: of a request, on average.
    """

    name: str
    title: str
    records: int | None
    depth: float | None
    planned: int
    of: int
    hits: int
    low: float
    high: float
    outcomes: Mapping[str, int]
    carried: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFigures:
    """One recall.

    Attributes:
        haystack: what the needles lie in.
        population: what the trials are drawn from.
        seed: with which they were.
        policy: its name.
        label: the ``name`` given to it.
        budget: tokens the policy was asked to stay within.
        changed: trials in which the policy changed the request.
        prompt_tokens: of all requests.
        cells: by length and depth.
    """

    haystack: str
    population: str
    seed: int | None
    policy: str
    label: str
    budget: int | None
    changed: int
    prompt_tokens: int
    cells: tuple[CellFigures, ...]


def replay_figures(
    replay: Replay, judgements: Sequence[Judgement] = (), *, by_call: bool = False
) -> ReplayFigures:
    """Return the figures of a replay.

    Args:
        replay: the replay.
        judgements: what was judged of it; how often a fact is answered is read from there.
        by_call: whether each call is in it, which takes a second look at every request.
    """
    answered = {name: m for judgement in judgements for name, m in judgement.metrics.items()}
    facts = []
    for fact in replay.transcript.facts:
        carried = replay.carried(fact.name)
        requests = carried.requests(everywhere(replay))
        metric = answered.get(f"answered.{fact.name}")
        trials = [] if metric is None else list((metric.trials or {}).values())
        facts.append(
            FactFigures(
                name=fact.name,
                carried=sum(map(bool, requests)),
                of=len(requests),
                sources=tuple(carried.sources_at(everywhere(replay))),
                answered=None if metric is None else metric.value,
                asked=len(trials),
                outcomes={each: trials.count(each) for each in OUTCOMES if each in trials},
            )
        )
    return ReplayFigures(
        budget=replay.budget,
        counter=replay.counter.name,
        approximate=approximation(replay.counter),
        traffic=replay.traffic is not None,
        calls=len(replay.steps),
        billed=replay.tokens.billed,
        final=replay.tokens.final,
        facts=tuple(facts),
        by_call=_calls(replay) if by_call else (),
    )


def _calls(replay: Replay) -> tuple[CallFigures, ...]:
    changes: dict[int, Change] = {change.call: change for change in replay.changes}
    found = []
    for number, use in enumerate(replay.bucket_use.calls):
        change = changes.get(number)
        found.append(
            CallFigures(
                call=use.call,
                turn=use.turn,
                system=use.tokens.system,
                tools=use.tokens.tools,
                tool_results=use.tokens.tool_results,
                conversation=use.tokens.conversation,
                reused=0 if change is None else change.shared_tokens,
                kind="first" if change is None else change.kind,
                broken=_broken(change) if change is not None and change.breaks else None,
            )
        )
    return tuple(found)


def _broken(change: Change) -> Break:
    return Break(
        where=change.where or change.kind,
        before=printable_lines(change.before[:EXCERPT]),
        after=printable_lines(change.after[:EXCERPT]),
        why=change.why,
    )


def recall_figures(recall: Recall) -> RecallFigures:
    """Return the figures of a recall."""
    return RecallFigures(
        haystack=recall.sample.haystack,
        population=recall.sample.population,
        seed=recall.sample.seed,
        policy=recall.policy,
        label=recall.label,
        budget=recall.budget,
        changed=recall.changed,
        prompt_tokens=recall.prompt_tokens,
        cells=tuple(map(_cell, recall.cells)),
    )


def _cell(cell: Cell) -> CellFigures:
    interval = cell.interval
    return CellFigures(
        name=cell.name,
        title=cell.title,
        records=cell.records,
        depth=cell.depth,
        planned=cell.planned,
        of=cell.of,
        hits=cell.hits,
        low=round(interval.low, 4),
        high=round(interval.high, 4),
        outcomes={str(each): n for each, n in cell.outcomes.items()},
        carried=cell.carried,
        tokens=round(sum(trial.tokens for trial in cell.trials) / cell.of),
    )
