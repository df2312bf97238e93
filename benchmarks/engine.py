"""Time reading and decoding, ours against the peers: ``python benchmarks/engine.py --json``.

Ours is measured again before each peer's turn, so that a slow spell of the machine falls on both
sides of a ratio. See README.md beside it for the interpreters of the peers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import (
    ENGINE_FLOORS,
    OURS,
    Pair,
    Timing,
    by_length,
    floor_table,
    judge_floors,
    ratios,
)
from benchmarks.options import add_options, settings_from
from benchmarks.processes import Engine, machine, parse_pythons, running, say
from benchmarks.workload import DECODED, LENGTHS, corpus, speed_prompt
from pytest_ctxguard.tokens.request import RequestEncoder

DEFAULT_ENGINES = ("ours", "llama_cpp", "torch_bf16", "openvino")
REPEATS = {512: 5, 2048: 3, 8192: 1}
QUICK_REPEATS = {512: 1, 2048: 1}
WARM_UP = 512


class Prompts:
    """Gives out prompts of which no two begin alike: each is read from its first token."""

    def __init__(self) -> None:
        self._text = corpus(RequestEncoder())
        self._given = 0

    def next(self, length: int) -> list[int]:
        """Return a new prompt of ``length`` ids."""
        self._given += 1
        return speed_prompt(self._text, length=length, serial=self._given)


def measure(engine: Engine, prompts: Prompts, length: int) -> Timing:
    """Read one cold prompt and decode from it."""
    answer = engine.ask(op="time", prompt=prompts.next(length), decoded=DECODED)
    timing = Timing(length, answer["prefill_s"], answer["decoded"], answer["decode_s"])
    say(
        f"  {engine.name:20} {length:5}: {timing.prefill_rate:8.1f} tok/s read, "
        f"{timing.decode_rate:6.1f} decoded"
    )
    if answer["computed"] not in (None, length):
        raise RuntimeError(f"{engine.name} computed {answer['computed']} of {length} cold tokens")
    return timing


def measure_all(
    engines: dict[str, Engine], repeats: dict[int, int]
) -> tuple[list[Pair], dict[str, list[Timing]]]:
    """Measure ours and each peer in turn, every length, every repeat."""
    prompts = Prompts()
    say("warming up")
    for engine in engines.values():
        measure(engine, prompts, WARM_UP)
    pairs: list[Pair] = []
    timings: dict[str, list[Timing]] = {name: [] for name in engines}
    peers = [name for name in engines if name != OURS] or [""]
    for length, count in repeats.items():
        for repeat in range(count):
            say(f"{length} tokens, {repeat + 1} of {count}")
            for peer in peers:
                for name in (OURS, peer):
                    if name in engines:
                        timings[name].append(measure(engines[name], prompts, length))
                if peer and OURS in engines:
                    pairs.append(Pair(peer, length, timings[OURS][-1], timings[peer][-1]))
    return pairs, timings


def report(
    engines: dict[str, Engine], skipped: dict[str, str], repeats: dict[int, int]
) -> dict[str, Any]:
    """Run the measurements and return the report."""
    where = machine()
    pairs, timings = measure_all(engines, repeats)
    result: dict[str, Any] = {
        "prefill_ratio": ratios(pairs, "prefill_rate"),
        "decode_ratio": ratios(pairs, "decode_rate"),
        "by_length": by_length(timings),
        "peak_rss_mb": {
            name: engine.ask(op="peak")["peak_rss_mb"] for name, engine in engines.items()
        },
        "load_s": {name: round(engine.hello["load_s"], 3) for name, engine in engines.items()},
        "loaded_rss_mb": {name: engine.hello["loaded_rss_mb"] for name, engine in engines.items()},
        "engines": {name: engine.hello["about"] for name, engine in engines.items()},
        "skipped": skipped,
        "machine": where,
    }
    if max(repeats) < max(LENGTHS):
        result["note"] = "quick: no 8k context, so peak memory is not judged"
    judged = {**result, "peak_rss_mb": {} if "note" in result else result["peak_rss_mb"]}
    result["floors"] = judge_floors(judged, ENGINE_FLOORS)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, engines=DEFAULT_ENGINES)
    options = parser.parse_args(arguments)
    repeats = QUICK_REPEATS if options.quick else REPEATS
    settings = settings_from(options, context=max(repeats) + DECODED + 1)
    with running(options.engines, pythons=parse_pythons(options.python), settings=settings) as (
        engines,
        skipped,
    ):
        result = report(engines, skipped, repeats)
    if options.json:
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
    else:
        for length, row in result["by_length"].items():
            for name, figures in row.items():
                sys.stdout.write(f"{length:>6} {name:22} {json.dumps(figures)}\n")
    say("\n" + floor_table(result["floors"]))


if __name__ == "__main__":
    main()
