"""Ask the same needles under other arithmetic, and count the answers that flip.

``python benchmarks/flips.py``: an A/A comparison. Nothing differs but how many threads compute and
how far ONNX Runtime rewrites the graph, which changes the order of additions and with it the last
bits. An answer flips where two next tokens are nearly tied. What is counted here is the noise
that a baseline from another machine has to be read with; on one machine the gate is exact.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnxruntime

from pytest_ctxguard import stats
from pytest_ctxguard.engine.chat import EngineBackend
from pytest_ctxguard.engine.export import GRAPH_FILE
from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.engine.own import OwnDecoder
from pytest_ctxguard.engine.runner import Runner
from pytest_ctxguard.engine.session import session_options
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.recall.asking import Asker
from pytest_ctxguard.recall.needles.depths import given_depths
from pytest_ctxguard.recall.needles.running import Setting, ask, show
from pytest_ctxguard.recall.needles.sample import drawn
from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.tokens.request import RequestEncoder

LEVELS = {
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
}


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a run computes: threads, and the level of graph optimisation."""

    threads: int
    level: str

    def __str__(self) -> str:
        return f"{self.threads} threads, optimisation {self.level}"


BASE = Arithmetic(2, "all")
OTHERS = (Arithmetic(2, "all"), Arithmetic(1, "all"), Arithmetic(2, "basic"), Arithmetic(2, "none"))
"""The first is the base once more: an A/A run proper, in which nothing may flip."""


def asked(files: ModelFiles, arithmetic: Arithmetic, *, depths: int, trials: int) -> Recall:
    """Ask the register of 25 records under one arithmetic, with a model loaded for it."""
    options = session_options(arithmetic.threads)
    options.graph_optimization_level = LEVELS[arithmetic.level]
    session = onnxruntime.InferenceSession(
        files.folder / GRAPH_FILE, options, providers=["CPUExecutionProvider"]
    )
    runner = Runner(OwnDecoder(session, files.config))
    encoder = RequestEncoder()
    backend = EngineBackend(runner, encoder, model=files.identity, window=runner.config.window)
    sample = drawn(
        "register",
        records=[25],
        depths=given_depths(depths, spacing="linear"),
        trials=trials,
        seed=0,
    )
    setting = Setting(policy=full_history, counter=encoder)
    return ask(sample, show(sample, setting), setting=setting, asker=Asker(backend))


def compared(base: Recall, other: Recall) -> dict[str, Any]:
    """Count the trials whose answer, and whose outcome, is another one."""
    pairs = list(zip(base.trials, other.trials, strict=True))
    of = len(pairs)
    answers = sum(a.text != b.text for a, b in pairs)
    lost = [a.id for a, b in pairs if a.answered and not b.answered]
    gained = [a.id for a, b in pairs if b.answered and not a.answered]
    flips = len(lost) + len(gained)
    return {
        "of": of,
        "answers_differ": answers,
        "outcomes_differ": sum(a.outcome != b.outcome for a, b in pairs),
        "hits_lost": lost,
        "hits_gained": gained,
        "flips": flips,
        "flips_95": [
            round(x, 4) for x in (stats.wilson(flips, of).low, stats.wilson(flips, of).high)
        ],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask under each arithmetic and print what flipped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depths", type=int, default=9)
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    files = store.resolve(fetch=True)
    size = {"depths": options.depths, "trials": options.trials}
    base = asked(files, BASE, **size)
    found = {}
    for place, other in enumerate(OTHERS):
        name = f"{other}, again" if place == 0 else str(other)
        found[name] = compared(base, asked(files, other, **size))
        if not options.json:
            row = found[name]
            print(
                f"{name:<34} {row['answers_differ']:>4} answers, {row['outcomes_differ']:>4} "
                f"outcomes, {row['flips']:>4} hits flip, of {row['of']}",
                flush=True,
            )
    if options.json:
        hits = sum(trial.answered for trial in base.trials)
        report = {"base": str(BASE), "hits": hits, "against": found}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
