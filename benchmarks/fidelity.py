"""Score the engine against torch float32 on the same weights: ``python benchmarks/fidelity.py``.

The reference is tests/engine/data/fidelity/ (how made: make_fidelity.py beside it). Of each
position it holds the likeliest ids with their log-probabilities, and the mass of all others as
one bucket. The divergence is Kullback-Leibler from the reference over that partition, in nats:
a lower bound of the divergence over the whole vocabulary (data processing inequality).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).parents[1] / "tests" / "engine" / "data" / "fidelity"
KEPT = 48  # likeliest ids stored of each position
PIECE = 256  # positions asked of the engine at once; at most its chunk
ANSWER_TOKENS = 24
END_IDS = (151643, 151645)
Z = 1.959964  # two-sided 95 %

Floats = NDArray[np.floating[Any]]
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Part:
    """The reference at some positions.

    Attributes:
        top: ids, the likeliest first, shape [positions, kept].
        top_log: their log-probabilities, same shape.
        rest_log: log of the mass of all other ids, shape [positions].
    """

    top: NDArray[np.integer[Any]]
    top_log: Floats
    rest_log: Floats


@dataclass(frozen=True, slots=True)
class Text:
    """One entry of the set.

    Attributes:
        name: what it is called.
        kind: ``short``, ``long`` or ``needle``.
        ids: its tokens.
        windows: the scored positions, as (start, end).
        part: the reference at these positions; empty for a needle prompt.
        answer: the reference's greedy answer to a needle prompt.
        margins: by how many logits it led, at each step and at its end.
    """

    name: str
    kind: str
    ids: tuple[int, ...]
    windows: tuple[tuple[int, int], ...]
    part: Part
    answer: tuple[int, ...]
    margins: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """What an engine's logits are worth at some positions: agreement of the likeliest id, KL."""

    agree: NDArray[np.bool_]
    kl: Floats


class Engine(Protocol):
    """What is scored, such as ``pytest_ctxguard.engine.runner.Runner``."""

    def logits(self, prompt: Sequence[int], *, rows: int = 1) -> Floats:
        """Return the logits after each of the last ``rows`` tokens, shape [rows, vocab]."""
        ...

    def generate(self, prompt: Sequence[int], *, max_tokens: int, stop: Collection[int]) -> Any:
        """Continue a prompt greedily; the result has ``tokens``."""
        ...


def read(folder: Path = DATA) -> list[Text]:
    """Read the whole set."""
    entries = json.loads((folder / "texts.json").read_text("utf-8"))["texts"]
    needles = json.loads((folder / "reference.json").read_text("utf-8"))["needles"]
    answers = {needle["name"]: needle for needle in needles}
    with np.load(folder / "reference.npz") as arrays:
        ids, top = arrays["ids"], arrays["top"].astype(np.int64)
        top_log, rest_log = arrays["top_log"], arrays["rest_log"]
    texts, token, row = [], 0, 0
    for entry in entries:
        windows = tuple((start, end) for start, end in entry["windows"])
        rows = slice(row, row + sum(end - start for start, end in windows))
        tokens = slice(token, token + entry["tokens"])
        row, token = rows.stop, tokens.stop
        said = answers.get(entry["name"], {})
        texts.append(
            Text(
                name=entry["name"],
                kind=entry["kind"],
                ids=tuple(ids[tokens].tolist()),
                windows=windows,
                part=Part(top[rows], top_log[rows], rest_log[rows]),
                answer=tuple(said.get("answer", ())),
                margins=tuple(said.get("margins", ())),
            )
        )
    return texts


def buckets(logits: Floats, top: NDArray[np.integer[Any]]) -> Floats:
    """Return the log of the mass of each id in ``top`` and, last, of all others; [.., kept + 1]."""
    peak = logits.max(-1, keepdims=True)
    mass = np.exp(logits - peak)
    total = mass.sum(-1, keepdims=True, dtype=np.float64)
    np.put_along_axis(mass, top, 0.0, -1)  # so that no difference of near equals is taken
    others = np.maximum(mass.sum(-1, keepdims=True, dtype=np.float64), np.finfo(np.float64).tiny)
    likeliest = np.take_along_axis(logits, top, -1).astype(np.float64) - peak
    return np.asarray(np.hstack((likeliest, np.log(others))) - np.log(total))


def truncate(logits: Floats, *, keep: int) -> Part:
    """Return the likeliest ids of each position, of equal ones the lower first, and the rest."""
    some = np.sort(np.argpartition(-logits, keep, axis=-1)[:, :keep], axis=-1)
    order = np.argsort(-np.take_along_axis(logits, some, -1), axis=-1, kind="stable")
    top = np.take_along_axis(some, order, -1)
    logs = buckets(logits, top)
    return Part(top, logs[:, :-1], logs[:, -1])


def score(part: Part, logits: Floats) -> Score:
    """Compare an engine's logits, shape [positions, vocab], with the reference."""
    theirs = np.column_stack((part.top_log, part.rest_log)).astype(np.float64)
    mass = np.exp(theirs)
    total = mass.sum(-1, keepdims=True)  # stored rounded: made to sum to one again
    ratio = theirs - np.log(total) - buckets(logits, part.top)
    return Score(agree=logits.argmax(-1) == part.top[:, 0], kl=(mass / total * ratio).sum(-1))


def full_divergence(reference: Floats, logits: Floats) -> Floats:
    """Return the Kullback-Leibler divergence over the whole vocabulary, by position."""
    peaks = reference.max(-1, keepdims=True), logits.max(-1, keepdims=True)
    mass = np.exp(reference - peaks[0])
    totals = mass.sum(-1, dtype=np.float64), np.exp(logits - peaks[1]).sum(-1, dtype=np.float64)
    ratio = (reference - peaks[0]) - (logits - peaks[1])
    mean = (mass * ratio).sum(-1, dtype=np.float64) / totals[0]
    return np.asarray(mean - np.log(totals[0] / totals[1]))


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a proportion (Wilson 1927, equation 4)."""
    rate, spread = hits / of, Z * Z / of
    centre = (rate + spread / 2) / (1 + spread)
    half = (Z / (1 + spread)) * ((rate * (1 - rate) + spread / 4) / of) ** 0.5
    return centre - half, centre + half


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return counts, agreement with its interval, mean and 99th percentile of the divergence."""
    agree = np.concatenate([each.agree for each in scores])
    kl = np.concatenate([each.kl for each in scores])
    hits, positions = int(agree.sum()), len(agree)
    return {
        "positions": positions,
        "agree": hits,
        "top1": hits / positions,
        "top1_interval": list(wilson(hits, positions)),
        "kl_mean": float(kl.mean()),
        "kl_p99": float(np.quantile(kl, 0.99)),
    }


def pieces(windows: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Cut windows into pieces of at most ``PIECE`` positions, none of a single one."""
    for start, end in windows:
        bounds = [*range(start, end, PIECE), end]
        if len(bounds) > 2 and bounds[-1] - bounds[-2] == 1:
            bounds[-2] -= 1
        yield from pairwise(bounds)


def score_text(engine: Engine, text: Text) -> Score:
    """Score one text, extending the prompt piece by piece."""
    found, row, done = [], 0, 0
    for start, end in pieces(text.windows):
        if start > done:
            engine.logits(text.ids[:start])  # so that the piece is all there is to compute
        rows = slice(row, row + end - start)
        part = Part(text.part.top[rows], text.part.top_log[rows], text.part.rest_log[rows])
        found.append(score(part, engine.logits(text.ids[:end], rows=end - start)))
        row, done = rows.stop, end
    return Score(
        agree=np.concatenate([each.agree for each in found]),
        kl=np.concatenate([each.kl for each in found]),
    )


def parting(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Return the first step at which two answers differ, None if they are equal."""
    pairs = enumerate(zip_longest(ours, theirs))
    return next((step for step, (one, other) in pairs if one != other), None)


def score_needles(engine: Engine, texts: Sequence[Text], *, told: Told) -> dict[str, Any]:
    """Answer the needle prompts; return how many answers are the reference's, token for token."""
    differ = []
    for done, text in enumerate(texts):
        told(text.name, done, len(texts))
        result = engine.generate(text.ids, max_tokens=ANSWER_TOKENS, stop=END_IDS)
        step = parting(result.tokens, text.answer)
        if step is not None:
            differ.append({"name": text.name, "step": step, "margin": text.margins[step]})
    equal, of = len(texts) - len(differ), len(texts)
    return {"equal": equal, "of": of, "interval": list(wilson(equal, of)), "differ": differ}


def measure(engine: Engine, texts: Sequence[Text], *, told: Told) -> dict[str, Any]:
    """Score an engine on texts of any kind; kinds that are absent are left out."""
    scored = [text for text in texts if text.kind != "needle"]
    needles = [text for text in texts if text.kind == "needle"]
    scores = {}
    for done, text in enumerate(scored):
        told(text.name, done, len(scored))
        scores[text.name] = score_text(engine, text)
    report: dict[str, Any] = {
        kind: summary([scores[text.name] for text in scored if text.kind == kind])
        for kind in ("short", "long")
        if any(text.kind == kind for text in scored)
    }
    if needles:
        report["needles"] = score_needles(engine, needles, told=told)
    report["by_text"] = {name: summary([each]) for name, each in scores.items()}
    return report


def tell(label: str, done: int, total: int) -> None:
    """Say on stderr, which is unbuffered, how far the work is."""
    sys.stderr.write(f"\r{done + 1:3}/{total} {label:24}")


def table(report: dict[str, Any]) -> str:
    """Return the report for people."""
    lines = [f"{'':20} {'positions':>9} {'top-1':>7} {'95 %':>13} {'mean KL':>9} {'p99 KL':>8}"]
    rows = {kind: report[kind] for kind in ("short", "long") if kind in report}
    for name, row in (rows | report["by_text"]).items():
        low, high = (f"{bound:.1%}"[:-1] for bound in row["top1_interval"])
        lines.append(
            f"{name:20} {row['positions']:9} {row['top1']:7.2%} {low:>6}-{high:<6} "
            f"{row['kl_mean']:9.5f} {row['kl_p99']:8.4f}"
        )
    if "needles" in report:
        lines.append("needle answers equal: {equal} of {of}".format_map(report["needles"]))
        lines += [
            f"  {each['name']}: parts at step {each['step']}, margin {each['margin']:.3f}"
            for each in report["needles"]["differ"]
        ]
    lines.append(f"KL in nats over {report['kept']} ids and a bucket: a lower bound.")
    return "\n".join(lines)


def main() -> None:
    """Score the engine and print the report."""
    from pytest_ctxguard.engine.models.store import resolve
    from pytest_ctxguard.engine.numerics import numerics
    from pytest_ctxguard.engine.open import load, usable_processors
    from pytest_ctxguard.engine.runner import Runner

    parser = argparse.ArgumentParser(description="Score the engine against torch float32.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--model", help="a name, a .gguf file or a converted folder")
    parser.add_argument("--only", choices=("short", "long", "needle"))
    chosen = parser.parse_args()
    texts = [text for text in read() if chosen.only in (None, text.kind)]
    files = resolve(chosen.model, fetch=True)
    runner = Runner(load(files, threads=usable_processors()))
    began = time.perf_counter()
    report = {
        "model": files.identity,
        "numerics": numerics(),
        "kept": KEPT,
        **measure(runner, texts, told=tell),
        "seconds": round(time.perf_counter() - began, 1),
    }
    sys.stderr.write("\n")
    sys.stdout.write((json.dumps(report, indent=1) if chosen.json else table(report)) + "\n")


if __name__ == "__main__":
    main()
