"""The arithmetic of the reports: rates, ratios, and the floors they are held to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

OURS = "ours"


@dataclass(frozen=True, slots=True)
class Timing:
    """One prompt read and continued.

    Attributes:
        prompt_tokens: length of the prompt.
        prefill_s: seconds until the first token was known.
        decoded: tokens after the first.
        decode_s: seconds they took.
    """

    prompt_tokens: int
    prefill_s: float
    decoded: int
    decode_s: float

    @property
    def prefill_rate(self) -> float:
        """Prompt tokens per second."""
        return self.prompt_tokens / self.prefill_s

    @property
    def decode_rate(self) -> float:
        """Decoded tokens per second."""
        return self.decoded / self.decode_s


@dataclass(frozen=True, slots=True)
class Pair:
    """Ours and a peer, measured one right after the other on one length."""

    peer: str
    length: int
    ours: Timing
    theirs: Timing


@dataclass(frozen=True, slots=True)
class Floor:
    """A target of the issue.

    Attributes:
        name: what is promised.
        path: where the measured value is in the report.
        bound: the value it must reach.
        at: whether the bound is the least or the most allowed.
    """

    name: str
    path: tuple[str, ...]
    bound: float
    at: Literal["least", "most"]


def _ratio_floors(what: str, peer: str, bounds: Mapping[str, float]) -> tuple[Floor, ...]:
    return tuple(
        Floor(f"{what} at {length} / {peer}", (f"{what}_ratio", peer, length), bound, "least")
        for length, bound in bounds.items()
    )


ENGINE_FLOORS = (
    *_ratio_floors("prefill", "torch_bf16", {"512": 1.0, "2048": 0.85, "8192": 0.7}),
    *_ratio_floors("prefill", "llama_cpp", {"512": 5.0, "2048": 5.0, "8192": 4.0}),
    *_ratio_floors("decode", "llama_cpp", {"512": 1.3, "2048": 1.3, "8192": 1.0}),
    *_ratio_floors("decode", "torch_bf16", {"512": 2.0, "2048": 2.0, "8192": 2.0}),
    Floor("load of a converted model, s", ("load_s", OURS), 1.0, "most"),
    Floor("peak memory with an 8k context, MB", ("peak_rss_mb", OURS), 1200.0, "most"),
)
PROBE_FLOORS = (
    Floor("probes, seconds / llama_cpp", ("time_ratio", "llama_cpp"), 0.2, "most"),
    Floor("probes, seconds / torch_bf16", ("time_ratio", "torch_bf16"), 0.5, "most"),
    Floor("probes, seconds / best openvino", ("time_ratio", "best_openvino"), 0.5, "most"),
)


def pair_ratio(pairs: Sequence[Pair], rate: Literal["prefill_rate", "decode_rate"]) -> float:
    """Return the median over pairs of ours / peer; a slow spell hits both sides of a pair."""
    return median(float(getattr(pair.ours, rate) / getattr(pair.theirs, rate)) for pair in pairs)


def ratios(
    pairs: Sequence[Pair], rate: Literal["prefill_rate", "decode_rate"]
) -> dict[str, dict[str, float]]:
    """Return peer -> length -> ratio of tokens per second."""
    table: dict[str, dict[str, float]] = {}
    for peer, length in dict.fromkeys((pair.peer, pair.length) for pair in pairs):
        chosen = [pair for pair in pairs if (pair.peer, pair.length) == (peer, length)]
        table.setdefault(peer, {})[str(length)] = round(pair_ratio(chosen, rate), 3)
    return table


def by_length(timings: Mapping[str, Sequence[Timing]]) -> dict[str, dict[str, Any]]:
    """Return length -> engine -> tokens per second, the median and the best of the repeats."""
    table: dict[str, dict[str, Any]] = {}
    for engine, measured in timings.items():
        for length in sorted({timing.prompt_tokens for timing in measured}):
            chosen = [timing for timing in measured if timing.prompt_tokens == length]
            table.setdefault(str(length), {})[engine] = {
                "prefill_tok_s": _spread([timing.prefill_rate for timing in chosen]),
                "decode_tok_s": _spread([timing.decode_rate for timing in chosen]),
                "repeats": len(chosen),
            }
    return table


def time_ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return peer -> our seconds / its seconds, and the same against OpenVINO's quicker way."""
    if OURS not in seconds:
        return {}
    ratio = {
        peer: round(seconds[OURS] / spent, 3) for peer, spent in seconds.items() if peer != OURS
    }
    openvino = [value for peer, value in ratio.items() if peer.startswith("openvino")]
    return {**ratio, "best_openvino": max(openvino)} if openvino else ratio


def judge_floors(report: Mapping[str, Any], floors: Sequence[Floor]) -> list[dict[str, Any]]:
    """Return each floor with the measured value and ``met``, ``missed`` or ``not measured``."""
    rows = []
    for floor in floors:
        value: Any = report
        for key in floor.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None:
            verdict = "not measured"
        else:
            reached = value >= floor.bound if floor.at == "least" else value <= floor.bound
            verdict = "met" if reached else "missed"
        rows.append(
            {
                "floor": floor.name,
                "at": floor.at,
                "bound": floor.bound,
                "measured": value,
                "verdict": verdict,
            }
        )
    return rows


def floor_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the judged floors as lines of text."""
    lines = [f"{'floor':40} {'bound':>10} {'measured':>10}  verdict"]
    for row in rows:
        sign = ">=" if row["at"] == "least" else "<="
        measured = "-" if row["measured"] is None else f"{row['measured']:.3f}"
        bound = f"{sign} {row['bound']:g}"
        lines.append(f"{row['floor']:40} {bound:>10} {measured:>10}  {row['verdict']}")
    return "\n".join(lines)


def _spread(rates: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(rates), 1), "best": round(max(rates), 1)}
