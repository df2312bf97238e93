"""An engine in its own process: reads requests, one JSON object a line, and answers them.

Run as ``python -m benchmarks.worker SETTINGS`` by ``processes.Engine``; the interpreter may be
another environment's, so nothing here imports the package.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Settings:
    """How to open an engine.

    Attributes:
        module: its module in ``benchmarks.peers``.
        variant: a named way to set it up; empty for its best.
        gguf: the weights all engines run.
        work: folder for other forms of the weights.
        threads: threads and processors it may use.
        context: longest prompt with its answer, in tokens.
        weights: the form of the weights the engine opens; its ``prepare`` says where.
    """

    module: str
    variant: str
    gguf: str
    work: str
    threads: int
    context: int
    weights: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A greedy continuation.

    Attributes:
        tokens: the ids, the stop id left out.
        computed: prompt tokens that no kept prefix covered; None where the engine does not say.
    """

    tokens: Sequence[int]
    computed: int | None


class Peer(Protocol):
    """One engine, loaded."""

    @property
    def about(self) -> dict[str, str]:
        """Versions and settings that the figures depend on."""
        ...

    def generate(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        stop: Sequence[int],
        on_token: Callable[[], None],
    ) -> Reply:
        """Continue a prompt greedily; ``on_token`` is called as soon as each token is known."""
        ...

    def generate_many(
        self, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
    ) -> list[Reply]:
        """Continue prompts that share a prefix, in the quickest way the engine has."""
        ...


def one_by_one(
    peer: Peer, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
) -> list[Reply]:
    """Continue prompts in turn, for an engine that decodes one sequence at a time."""
    return [
        peer.generate(prompt, max_tokens=max_tokens, stop=stop, on_token=lambda: None)
        for prompt in prompts
    ]


def peak_rss_mb() -> float:
    """Return the largest resident set of this process so far."""
    import resource  # not on every system, where the rest can still be imported

    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def time_prompt(peer: Peer, prompt: list[int], *, decoded: int) -> dict[str, Any]:
    """Read a prompt and decode; seconds to the first token and from there to the last."""
    stamps: list[float] = []
    started = time.perf_counter()
    reply = peer.generate(
        prompt,
        max_tokens=decoded + 1,
        stop=(),
        on_token=lambda: stamps.append(time.perf_counter()),
    )
    return {
        "prefill_s": stamps[0] - started,
        "decode_s": stamps[-1] - stamps[0],
        "decoded": len(stamps) - 1,
        "computed": reply.computed,
    }


def answer(
    peer: Peer, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
) -> dict[str, Any]:
    """Answer a group of prompts; seconds for all of them."""
    started = time.perf_counter()
    replies = peer.generate_many(prompts, max_tokens=max_tokens, stop=stop)
    spent = time.perf_counter() - started
    return {
        "seconds": spent,
        "answers": [{"tokens": list(r.tokens), "computed": r.computed} for r in replies],
    }


def _handle(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    operation = request.pop("op")
    gc.collect()
    if operation == "time":
        return time_prompt(peer, request["prompt"], decoded=request["decoded"])
    if operation == "answer":
        return answer(
            peer, request["prompts"], max_tokens=request["max_tokens"], stop=request["stop"]
        )
    if operation == "peak":
        return {"peak_rss_mb": round(peak_rss_mb(), 1)}
    raise ValueError(f"no operation is named {operation!r}")


def _restrict(threads: int) -> None:
    """Give the process as many processors as threads, before a library counts them."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main() -> None:
    """Prepare and exit, or load and serve until the input ends."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print on standard output too

    def send(message: dict[str, Any]) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    settings = Settings(**json.loads(sys.argv[1]))
    _restrict(settings.threads)
    started = time.perf_counter()
    try:
        module = importlib.import_module(f"benchmarks.peers.{settings.module}")
    except ImportError as error:
        send({"absent": f"{type(error).__name__}: {error}"})
        return
    imported = time.perf_counter() - started
    Path(settings.work).mkdir(parents=True, exist_ok=True)
    if "--prepare" in sys.argv[2:]:
        send({"weights": module.prepare(settings)})
        return
    started = time.perf_counter()
    peer: Peer = module.load(settings)
    loaded = time.perf_counter() - started
    rss = round(peak_rss_mb(), 1)
    send({"load_s": loaded, "import_s": imported, "loaded_rss_mb": rss, "about": peer.about})
    for line in sys.stdin:
        send(_handle(peer, json.loads(line)))


if __name__ == "__main__":
    main()
