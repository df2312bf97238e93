"""One engine for all workers, or one for each: ``python benchmarks/sharing.py``.

The same tests' questions, dealt to the workers as xdist deals tests, in both ways in turn: one
process computes with all processors and the workers connect to it, or each worker loads the model
and computes with its share. Seconds run from the start of the workers to the last answer, loading
included, as in a run of pytest; processor time is that of the processes that compute, which only
Linux tells. No answer may differ.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.workload import RECORDS, TRANSCRIPT, conditions
from pytest_ctxguard.backend import Backend
from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.open import open_backend, usable_processors
from pytest_ctxguard.plugin.xdist.sharing import PLACE, Sharing, Starter
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.recall.asking import Asker, Question
from pytest_ctxguard.recall.needles.depths import given_depths
from pytest_ctxguard.recall.needles.running import Setting, ask, show
from pytest_ctxguard.recall.needles.sample import drawn
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.server.local import LocalBackend
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find

BUDGET = 3000
WAYS = ("shared", "each")
KINDS = ("policies", "needles")
POLICIES = ("sliding-window", "user-messages", "three-step-fit", "elided-results")
NEEDLE_TESTS, TRIALS, WORDINGS = 4, 4, 3


def ask_policy(name: str, encoder: RequestEncoder, asker: Asker) -> list[str]:
    """Ask for the session's first fact under one policy, as one test does."""
    transcript = find(TRANSCRIPT)
    policy = conditions()[name]
    replay = run(Plan(transcript=transcript, policy=policy, counter=encoder, budget=BUDGET))
    questions = [
        Question(request.messages, tools=transcript.tools)
        for request in replay.probes[transcript.facts[0].name][:WORDINGS]
    ]
    return [repr(getattr(answer, "text", answer)) for answer in asker.ask(questions)]


def ask_needles(seed: str, encoder: RequestEncoder, asker: Asker) -> list[str]:
    """Ask for needles in the register, as one test does."""
    depths = given_depths(1, spacing="linear")
    sample = drawn("register", records=[RECORDS], depths=depths, trials=TRIALS, seed=int(seed))
    setting = Setting(policy=full_history, counter=encoder)
    found = ask(sample, show(sample, setting), setting=setting, asker=asker)
    return [trial.text for trial in found.trials]


TESTS = {
    "policies": [partial(ask_policy, name) for name in POLICIES],
    "needles": [partial(ask_needles, str(number)) for number in range(NEEDLE_TESTS)],
}


def work(kind: str, numbers: Sequence[int], folder: Path, threads: int) -> dict[str, Any]:
    """Run some tests in this process; threads of 0: with the engine that is shared."""
    encoder = RequestEncoder()
    if threads:
        backend: Backend = open_backend(None, encoder=encoder, fetch=False, threads=threads)
    else:
        told = {"model": None, "special_tokens": "data", "prefix_cache": 0}
        backend = LocalBackend(Starter(folder, told).connect, encoder=encoder)
    asker = Asker(backend)
    answers = {number: TESTS[kind][number](encoder, asker) for number in numbers}
    computed = asker.spent.computed_tokens
    return {"answers": answers, "computed_tokens": computed, "processor_s": time.process_time()}


def served_seconds(folder: Path) -> float:
    """Return the processor time of the engine that is shared, if one is: fields 14 and 15."""
    place = folder / PLACE
    if not place.exists():
        return 0.0
    stat = Path(f"/proc/{json.loads(place.read_text())['process']}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure(kind: str, way: str, *, workers: int) -> dict[str, Any]:
    """Run all tests of a kind in one way."""
    threads = max(1, usable_processors() // workers) if way == "each" else 0
    dealt = [range(first, len(TESTS[kind]), workers) for first in range(workers)]
    sharing = Sharing()
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            started = time.monotonic()
            parts = [pool.submit(work, kind, part, sharing.folder, threads) for part in dealt]
            found = [part.result() for part in parts]
            seconds = time.monotonic() - started
        served = served_seconds(sharing.folder)
    finally:
        sharing.close()
    return {
        "seconds": round(seconds, 2),
        "processor_s": round(sum(part["processor_s"] for part in found) + served, 2),
        "computed_tokens": sum(part["computed_tokens"] for part in found),
        "answers": {number: texts for part in found for number, texts in part["answers"].items()},
    }


def rounds(kind: str, *, workers: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield each repeat's seconds and tokens by way; raises where an answer differs."""
    for repeat in range(repeats):
        order = WAYS if repeat % 2 == 0 else WAYS[::-1]
        found = {way: measure(kind, way, workers=workers) for way in order}
        answers = [each.pop("answers") for each in found.values()]
        if answers[0] != answers[1]:
            raise SystemExit(f"{kind}: the answers differ")
        yield found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print seconds and computed tokens both ways, and the median of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS), help="comma-separated")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    store.resolve(fetch=True)
    report = {}
    for kind in options.kinds.split(","):
        found = []
        for one in rounds(kind, workers=options.workers, repeats=options.repeats):
            found.append(one)
            if not options.json:
                print(kind, one, flush=True)
        ratios = {
            what: round(median(one["each"][what] / one["shared"][what] for one in found), 2)
            for what in ("seconds", "processor_s", "computed_tokens")
        }
        report[kind] = {"runs": found, "each_to_shared": ratios}
        if not options.json:
            print(f"{kind}: each to shared, medians: {ratios}", flush=True)
    if options.json:
        sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
