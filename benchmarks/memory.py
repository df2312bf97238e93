"""Measure memory: ``python benchmarks/memory.py`` (a peak needs a process of its own for each).

Prints the resident memory after loading, the peak for prompts of 8,000 and 11,000 tokens, and what
the process holds after every 100 of 500 prompts that share little.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from pathlib import Path

import numpy as np

from pytest_ctxguard.engine.models import store
from pytest_ctxguard.engine.open import load
from pytest_ctxguard.engine.runner import Runner

MIB = 1 << 20
PROMPTS, REPORTED = 500, 100


def resident() -> float:
    """Return the process's resident memory, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def peak() -> float:
    """Return the largest resident memory of this process so far, in MiB (Linux counts KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one_prompt(length: int) -> None:
    """Answer one prompt, and print what it took."""
    runner = Runner(load(store.resolve(), threads=2))
    loaded = resident()
    ids = np.random.default_rng(0).integers(0, 150_000, length).tolist()
    runner.generate(ids, max_tokens=16)
    print(f"{length:>6} tokens: loaded {loaded:.0f} MiB, peak {peak():.0f} MiB", flush=True)


def many_prompts() -> None:
    """Answer prompts of 20 to 1,500 tokens, and print what is held as it goes on."""
    runner = Runner(load(store.resolve(), threads=2))
    draw = np.random.default_rng(1)
    for number in range(1, PROMPTS + 1):
        length = int(draw.choice([20, 60, 200], p=[0.6, 0.3, 0.1]) if number % 50 else 1500)
        runner.generate(draw.integers(0, 150_000, length).tolist(), max_tokens=2)
        if number % REPORTED == 0:
            print(f"{number:>6} prompts: {resident():.0f} MiB, peak {peak():.0f} MiB", flush=True)


def main() -> int:
    """Run each measurement in a process of its own."""
    store.resolve(fetch=True)
    context = multiprocessing.get_context("spawn")
    for target, arguments in ((one_prompt, (8000,)), (one_prompt, (11_000,)), (many_prompts, ())):
        process = context.Process(target=target, args=arguments)
        process.start()
        process.join()
        if process.exitcode:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
