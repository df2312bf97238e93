"""Time of a replay and its checks against the number of calls: ``python benchmarks/policies.py``.

Each policy is a process of its own that replays sessions of growing length, and judges them by the
checks ``ctx_wellformed``, ``ctx_budget`` and ``ctx_carried``. The peer is what a test by hand would
do: run the policy on the history of every call, and serialise the request. Times are the
processor's, the best of a few runs; ours and the peer take turns. Time inside the policy, and
inside what it called of what it was offered, is told from the rest.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.clocked import ours, peer
from benchmarks.processes import ROOT, machine, say
from benchmarks.readers import LINEAR, exponent
from benchmarks.sessions import BUDGET, POLICIES, TOPOLOGIES, adapted, session
from pytest_ctxguard.tokens.request import RequestEncoder

SIZES = (50, 100, 200, 400)  # tool calls
REPEATS = 3
WARM_UP = 10  # tool calls
STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
PARTS = ("total_s", "ours_s", "policy_s", "counted_for_policy_s", "peer_s")


def from_here() -> float | None:
    """Begin the peak of this process anew; MB held now, or ``None`` where the system cannot."""
    try:
        PEAK_RESET.write_text("5")
    except OSError:
        return None
    return held_mb()


def held_mb() -> float:
    """Return the peak of this process since it was begun anew."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def one(name: str, topology: str, *, sizes: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """Measure a policy on sessions of growing length, in this process.

    Memory is the process's peak during a replay and its checks above what it held before, of the
    first run.
    """
    make = POLICIES.get(name) or adapted()[name]
    if isinstance(make, str):
        raise ImportError(make)
    encoder = RequestEncoder()
    rows = []
    for measured, size in enumerate((WARM_UP, *sizes)):
        transcript = session(topology, size)
        runs = []
        for _ in range(repeats):
            gc.collect()
            before = from_here()
            found = ours(name, make, transcript, encoder)
            memory = None if before is None else round(held_mb() - before, 1)
            spent = peer(name, make, transcript, encoder)
            runs.append({**found, "peer_s": spent, "memory_mb": memory})
        if measured:
            rows.append({"tool_calls": size, **runs[0], **_best(runs)})
    return rows


def _best(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {part: round(min(run[part] for run in runs), 5) for part in (*PARTS, "checks_s")}


def growth(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Say how each part grows with the calls: the slope of its logarithm, by least squares.

    *Linear in calls*: the slope is at most 0.15 above 1. *Linear in what is handled*: our own part
    grows no faster, by the same margin, than the number of messages handed to the policy and sent.
    """
    calls = [row["calls"] for row in rows]
    found = {
        part.removesuffix("_s"): round(exponent(calls, [row[part] for row in rows]), 2)
        for part in (*PARTS, "handled")
    }
    last = exponent(calls[-2:], [row["ours_s"] for row in rows[-2:]])
    return {
        "exponents": found,
        "ours_last_doubling": round(last, 2),
        **_shares(rows),
        "linear_in_calls": found["ours"] <= 1 + LINEAR,
        "linear_in_handled": max(found["ours"], last) <= max(1.0, found["handled"]) + LINEAR,
    }


def _shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Split our own time into what a call takes and what a message handled takes, microseconds.

    By least squares over the sizes, each weighed by its own time.
    """
    scaled = [(row["calls"] / row["ours_s"], row["handled"] / row["ours_s"]) for row in rows]
    aa, bb = (sum(pair[i] ** 2 for pair in scaled) for i in (0, 1))
    ab = sum(a * b for a, b in scaled)
    a, b = (sum(pair[i] for pair in scaled) for i in (0, 1))
    over = aa * bb - ab * ab
    call, handled = ((a * bb - b * ab) / over, (b * aa - a * ab) / over) if over else (0.0, 0.0)
    return {"us_per_call": round(call * 1e6, 1), "us_per_handled": round(handled * 1e6, 3)}


def report(
    names: Sequence[str], topologies: Sequence[str], *, sizes: Sequence[int], repeats: int
) -> dict[str, Any]:
    """Measure each policy in a process of its own, and return the report."""
    result: dict[str, Any] = {"machine": machine(), "budget": BUDGET, "policies": {}, "skipped": {}}
    for name, why in adapted().items():
        if isinstance(why, str):
            result["skipped"][name] = why
    for topology in topologies:
        for name in names:
            options = ["--sizes", ",".join(map(str, sizes)), "--repeats", str(repeats)]
            command = [sys.executable, "-m", "benchmarks.policies", "--one", name, topology]
            done = subprocess.run(
                [*command, *options], cwd=ROOT, capture_output=True, text=True, check=False
            )
            if done.returncode:
                result["skipped"][f"{name} ({topology})"] = done.stderr.strip().splitlines()[-1]
                continue
            rows = json.loads(done.stdout)
            result["policies"][f"{name} ({topology})"] = {"sizes": rows, **growth(rows)}
            say(f"{name} ({topology}): {rows[-1]['total_s']:.2f} s")
    return result


def table(result: Mapping[str, Any]) -> str:
    """Return the report as text: seconds of the longest session, and how they grew."""
    lines = [
        f"{'':38} {'':5} {'seconds':>7} {'':7} {'':7} {'':7} {'':7} {'':6} {'':6} "
        f"{'exponent':>8} {'':6} {'':7} {'':7} {'':5} {'us':>5} {'':7}",
        f"{'policy':38} {'calls':>5} {'total':>7} {'ours':>7} {'counted':>7} {'policy':>7} "
        f"{'peer':>7} {'ratio':>6} {'MB':>6} {'ours':>8} {'policy':>6} {'counted':>7} "
        f"{'handled':>7} {'peer':>5} {'call':>5} {'handled':>7}  linear",
    ]
    for name, found in result["policies"].items():
        row, grown = found["sizes"][-1], found["exponents"]
        kinds = {"calls": found["linear_in_calls"], "handled": found["linear_in_handled"]}
        linear = next((f"in {kind}" for kind, holds in kinds.items() if holds), "NO")
        memory = row["memory_mb"] if row["memory_mb"] is not None else float("nan")
        counted = (
            f"{grown['counted_for_policy']:7.2f}" if row["counted_for_policy_s"] else "      -"
        )
        lines.append(
            f"{name:38} {row['calls']:5} {row['total_s']:7.3f} {row['ours_s']:7.3f} "
            f"{row['counted_for_policy_s']:7.3f} {row['policy_s']:7.3f} {row['peer_s']:7.3f} "
            f"{row['total_s'] / row['peer_s']:6.2f} {memory:6.1f} {grown['ours']:8.2f} "
            f"{grown['policy']:6.2f} {counted} {grown['handled']:7.2f} {grown['peer']:5.2f} "
            f"{found['us_per_call']:5.0f} {found['us_per_handled']:7.2f}  {linear}"
        )
    lines += [f"{name}: skipped, {why}" for name, why in result["skipped"].items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="two sizes, one run each")
    parser.add_argument("--policies", help="comma-separated; all there are by default")
    parser.add_argument("--topologies", default=",".join(TOPOLOGIES))
    parser.add_argument("--sizes", help="tool calls, comma-separated")
    parser.add_argument("--repeats", type=int, help=f"{REPEATS} by default")
    parser.add_argument("--one", nargs=2, metavar=("POLICY", "TOPOLOGY"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    sizes = [int(n) for n in options.sizes.split(",")] if options.sizes else list(SIZES)
    sizes = sizes[:2] if options.quick else sizes
    repeats = options.repeats or (1 if options.quick else REPEATS)
    if options.one:
        print(json.dumps(one(*options.one, sizes=sizes, repeats=repeats)))
        return
    known = [*POLICIES, *(name for name, how in adapted().items() if callable(how))]
    names = options.policies.split(",") if options.policies else known
    result = report(names, options.topologies.split(","), sizes=sizes, repeats=repeats)
    print(json.dumps(result, indent=2) if options.json else table(result))


if __name__ == "__main__":
    main()
