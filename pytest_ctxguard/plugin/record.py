"""What one test promises and left behind: its replays, recalls and their judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.checks.estimator import EstimatorBound
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.guarded import GuardedReplay
from pytest_ctxguard.checks.laws.result import LawResult
from pytest_ctxguard.checks.needle_recall import NeedleRecall, RecallCase
from pytest_ctxguard.checks.promise import Promise
from pytest_ctxguard.recall.needles.running import Shown
from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.report.figures import recall_figures, replay_figures
from pytest_ctxguard.report.run import Subject


@dataclass(slots=True)
class Judged:
    """One replay of a test and what was judged of it."""

    replay: GuardedReplay
    wanted: bool
    judgements: list[Judgement] = field(default_factory=list)


@dataclass(slots=True)
class JudgedRecall:
    """One recall of a test and what was judged of it.

    Attributes:
        shown: trial id -> what was asked; empty unless the prompts of failed trials are wanted.
    """

    case: RecallCase
    wanted: bool
    judgements: list[Judgement] = field(default_factory=list)
    shown: Mapping[str, Shown] = field(default_factory=dict)

    @property
    def recall(self) -> Recall:
        """The recall."""
        return self.case.recall


@dataclass(slots=True)
class TestRecord:
    """What one guarded test promises and did.

    Attributes:
        promises: those about replays, to judge in this tier.
        claims: those about recalls.
        bounds: those about estimators.
        unchecked: names of those left out.
        replays: in the order they were made.
        recalls: the same.
        servers: one for each server started: how many chat requests it has had.
        laws: what each policy came to that was held to the laws.
        agents: what each run of an agent came to, and each next step that was asked for.
        estimates: what each estimator came to, with its name, once for each promise.
        note: why nothing was judged, if so.
        finished: whether the body ran to its end.
    """

    __test__ = False  # pytest, this is no test class

    promises: tuple[Promise, ...]
    claims: tuple[NeedleRecall, ...] = ()
    bounds: tuple[EstimatorBound, ...] = ()
    unchecked: tuple[str, ...] = ()
    replays: list[Judged] = field(default_factory=list)
    recalls: list[JudgedRecall] = field(default_factory=list)
    servers: list[Callable[[], int]] = field(default_factory=list)
    laws: list[LawResult] = field(default_factory=list)
    agents: list[Judgement] = field(default_factory=list)
    estimates: list[tuple[str, Judgement]] = field(default_factory=list)
    note: str = ""
    finished: bool = False

    @property
    def checked(self) -> bool:
        """Whether the body judged a replay itself, by ``replay.check``."""
        return any(judged.judgements for judged in self.replays)

    def clear(self) -> None:
        """Forget what was judged."""
        for replay in self.replays:
            replay.judgements.clear()
        for recall in self.recalls:
            recall.judgements.clear()
        self.estimates.clear()

    def subjects(self, *, by_call: bool) -> Iterator[Subject]:
        """Yield what was judged, for the report.

        Args:
            by_call: whether the figures of a replay have each call.
        """
        for judged in self.replays:
            if judged.wanted:
                judgements = tuple(judged.judgements)
                yield Subject(
                    kind="replay",
                    name=judged.replay.transcript.name,
                    policy=judged.replay.policy,
                    label=judged.replay.label,
                    judgements=judgements,
                    replay=replay_figures(judged.replay, judgements, by_call=by_call),
                )
        for recall in self.recalls:
            if recall.wanted:
                yield Subject(
                    kind="recall",
                    name=recall.recall.sample.haystack,
                    policy=recall.recall.policy,
                    label=recall.recall.label,
                    judgements=tuple(recall.judgements),
                    recall=recall_figures(recall.recall),
                )
        for law in self.laws:
            yield Subject(kind="laws", policy=law.policy, judgements=(law.judgement,))
        for estimator, judgement in self.estimates:
            yield Subject(kind="estimate", name=estimator, judgements=(judgement,))
        for judgement in self.agents:
            yield Subject(kind="agent", judgements=(judgement,))


def labels(replays: Sequence[Judged]) -> list[str]:
    """Return the labels of the replays that are judged."""
    return [judged.replay.label for judged in replays if judged.wanted]
