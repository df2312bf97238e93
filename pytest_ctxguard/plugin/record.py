"""What one test left behind: its replays and judgements, and the JSON that leaves the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.baseline import Baseline, Key, Metric, metric_from_json
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.guarded import GuardedReplay
from pytest_ctxguard.checks.laws.result import LawResult
from pytest_ctxguard.checks.promise import Promise


@dataclass(slots=True)
class Judged:
    """One replay of a test and what was judged of it."""

    replay: GuardedReplay
    wanted: bool
    judgements: list[Judgement] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return what the report and the baseline need."""
        replay = self.replay
        metrics = {k: m for judgement in self.judgements for k, m in judgement.metrics.items()}
        return {
            "label": replay.label,
            "transcript": replay.transcript.name,
            "policy": replay.policy,
            "budget": replay.budget,
            "calls": len(replay.steps),
            "billed": replay.tokens.billed,
            "final": replay.tokens.final,
            "judgements": [judgement_as_json(judgement) for judgement in self.judgements],
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
        promises: those to judge in this tier.
        unchecked: names of those left out.
        replays: in the order they were made.
        servers: one for each server started: how many chat requests it has had.
        laws: what each policy came to that was held to the laws.
        agents: what each run of an agent came to.
        note: why nothing was judged, if so.
    """

    __test__ = False  # pytest, this is no test class

    promises: tuple[Promise, ...]
    unchecked: tuple[str, ...] = ()
    replays: list[Judged] = field(default_factory=list)
    servers: list[Callable[[], int]] = field(default_factory=list)
    laws: list[LawResult] = field(default_factory=list)
    agents: list[Judgement] = field(default_factory=list)
    note: str = ""

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
                "replays": [judged.as_json() for judged in self.replays if judged.wanted],
            }
        )


def has_metrics(payload: dict[str, Any]) -> bool:
    """Tell whether a payload measured anything that a baseline keeps."""
    return any(replay["metrics"] for replay in payload["replays"])


def measured(payload: dict[str, Any], before: Baseline) -> dict[Key, dict[str, Metric]]:
    """Return the baseline entries of a payload.

    Where the run's tier left promises out, the metrics it did not measure stay as they were.
    """
    return {
        (key := (payload["key"], replay["label"])): {
            **(before.metrics(key) if payload["unchecked"] else {}),
            **{name: metric_from_json(row) for name, row in replay["metrics"].items()},
        }
        for replay in payload["replays"]
        if replay["metrics"]
    }


def labels(replays: Sequence[Judged]) -> list[str]:
    """Return the labels of the replays that are judged."""
    return [judged.replay.label for judged in replays if judged.wanted]
