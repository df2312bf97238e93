"""What one test left behind: its replays and judgements, and the JSON that leaves the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.baseline import Baseline, Key, Metric, metric_from_json
from pytest_ctxguard.checks.estimator import EstimatorBound
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.guarded import GuardedReplay
from pytest_ctxguard.checks.laws.result import LawResult
from pytest_ctxguard.checks.needle_recall import NeedleRecall, RecallCase
from pytest_ctxguard.checks.promise import Promise
from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.report.recall import recall_json
from pytest_ctxguard.tokens.exactness import approximation


@dataclass(slots=True)
class Judged:
    """One replay of a test and what was judged of it."""

    replay: GuardedReplay
    wanted: bool
    judgements: list[Judgement] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return what the report and the baseline need."""
        replay = self.replay
        return {
            "label": replay.label,
            "transcript": replay.transcript.name,
            "policy": replay.policy,
            "budget": replay.budget,
            "calls": len(replay.steps),
            "billed": replay.tokens.billed,
            "final": replay.tokens.final,
            "approximate": approximation(replay.counter),
            **_judgements_as_json(self.judgements),
        }


@dataclass(slots=True)
class JudgedRecall:
    """One recall of a test and what was judged of it."""

    case: RecallCase
    wanted: bool
    judgements: list[Judgement] = field(default_factory=list)

    @property
    def recall(self) -> Recall:
        """The recall."""
        return self.case.recall

    def as_json(self) -> dict[str, Any]:
        """Return what the report and the baseline need."""
        return {**recall_json(self.recall), **_judgements_as_json(self.judgements)}


def _judgements_as_json(judgements: Sequence[Judgement]) -> dict[str, Any]:
    metrics = {k: m for judgement in judgements for k, m in judgement.metrics.items()}
    return {
        "judgements": [judgement_as_json(judgement) for judgement in judgements],
        "metrics": {name: metric.as_json() for name, metric in metrics.items()},
    }


def judgement_as_json(judgement: Judgement) -> dict[str, str]:
    """Return what the report shows of a judgement."""
    return {
        "promise": judgement.promise,
        "summary": judgement.summary,
        "verdict": judgement.verdict,
        "state": judgement.state,
    }


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

    def clear(self) -> None:
        """Forget what was judged."""
        for replay in self.replays:
            replay.judgements.clear()
        for recall in self.recalls:
            recall.judgements.clear()
        self.estimates.clear()

    def payload(self, nodeid: str, *, key: str, baseline: str) -> str:
        """Return the one JSON string that rides on the test report.

        ASCII JSON of plain values: it crosses process boundaries whatever the text holds.
        """
        return json.dumps(
            {
                "nodeid": nodeid,
                "key": key,
                "baseline": baseline,
                "unchecked": list(self.unchecked),
                "note": self.note,
                "laws": [
                    {"policy": each.policy, **judgement_as_json(each.judgement)}
                    for each in self.laws
                ],
                "agents": [judgement_as_json(judgement) for judgement in self.agents],
                "estimates": [
                    {"estimator": name, **judgement_as_json(judgement)}
                    for name, judgement in self.estimates
                ],
                "replays": [judged.as_json() for judged in self.replays if judged.wanted],
                "recalls": [judged.as_json() for judged in self.recalls if judged.wanted],
            }
        )


def has_metrics(payload: dict[str, Any]) -> bool:
    """Tell whether a payload measured anything that a baseline keeps."""
    return any(row["metrics"] for row in _measuring(payload))


def measured(payload: dict[str, Any], before: Baseline) -> dict[Key, dict[str, Metric]]:
    """Return the baseline entries of a payload.

    A replay and a recall of one label share an entry. Where the run's tier left promises out,
    the metrics it did not measure stay as they were.
    """
    entries: dict[Key, dict[str, Metric]] = {}
    for row in _measuring(payload):
        if row["metrics"]:
            key = (payload["key"], row["label"])
            kept = before.metrics(key) if payload["unchecked"] else {}
            entry = entries.setdefault(key, dict(kept))
            entry.update({name: metric_from_json(m) for name, m in row["metrics"].items()})
    return entries


def _measuring(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [*payload["replays"], *payload["recalls"]]


def labels(replays: Sequence[Judged]) -> list[str]:
    """Return the labels of the replays that are judged."""
    return [judged.replay.label for judged in replays if judged.wanted]
