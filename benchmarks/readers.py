"""Load speed and memory of the readers against file size: ``python benchmarks/readers.py --json``.

Every measurement is a process of its own that reads one file once. The peer parses the same file
and keeps what it parsed: ``json.loads`` a line, or PyYAML's CSafeLoader. Times are the processor's
(one thread reads); ours and the peer take turns, so that a slow spell of the machine falls on both.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.processes import ROOT, machine, say
from benchmarks.recordings import FORMATS, write
from benchmarks.worker import peak_rss_mb

SIZES = (1, 2, 4, 8)  # MB
REPEATS = 3
STATM = Path("/proc/self/statm")
LINEAR = 0.15  # how far an exponent of size may be above 1, or above the peer's


def read_ours(path: Path) -> Any:
    """Read a recording as the package does."""
    from pytest_ctxguard.transcript.loading import read

    return read(path)


def read_peer(path: Path) -> Any:
    """Parse a recording, and nothing else."""
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    import yaml

    return yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)


READERS: Mapping[str, Callable[[Path], Any]] = {"ours": read_ours, "peer": read_peer}


def warm_up() -> None:
    """Load the libraries, so that no reading pays for it."""
    import yaml  # noqa: F401

    from pytest_ctxguard.transcript import loading  # noqa: F401
    from pytest_ctxguard.transcript.readers import catalogue  # noqa: F401


def resident_mb() -> float:
    """Return what this process holds now; where the system does not tell, its peak so far."""
    if not STATM.exists():
        return peak_rss_mb()
    import resource  # not on every system

    return int(STATM.read_text().split()[1]) * resource.getpagesize() / 1e6


def one(path: Path, reader: str) -> dict[str, Any]:
    """Read a file once; processor seconds, and the peak memory above what was held before."""
    warm_up()
    before = resident_mb()
    started = time.process_time()
    held = READERS[reader](path)
    spent = time.process_time() - started
    result = {"seconds": spent, "memory_mb": peak_rss_mb() - before}
    if reader == "ours":
        result |= {"format": held.format, "messages": sum(len(r.messages) for r in held.runs)}
    return result


def in_a_process(path: Path, reader: str) -> dict[str, Any]:
    """Run :func:`one` in a process of its own; raises RuntimeError with its last words."""
    command = [sys.executable, "-m", "benchmarks.readers", "--one", str(path), reader]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def measure(path: Path, *, size: int, repeats: int) -> dict[str, Any]:
    """Measure ours and the peer on one file, in turns."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in READERS}
    for _ in range(repeats):
        for name in READERS:
            found[name].append(in_a_process(path, name))
    figures = {
        name: {
            "mb_per_s": round(size / 1e6 / min(run["seconds"] for run in runs), 2),
            "memory_mb": round(median(run["memory_mb"] for run in runs), 1),
        }
        for name, runs in found.items()
    }
    ours, peer = (min(run["seconds"] for run in found[name]) for name in ("ours", "peer"))
    memory = max(figures["peer"]["memory_mb"], 0.1)
    return {
        "bytes": size,
        "messages": found["ours"][0]["messages"],
        **figures,
        "speed_ratio": round(peer / ours, 3),
        "memory_ratio": round(figures["ours"]["memory_mb"] / memory, 2),
    }


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the power of the size that values grow with, by least squares over the logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(v, 1e-9)) for v in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    over = sum((a - x) ** 2 for a in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / over if over else 0.0


def growth(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Say how time and memory grow with the size of the file.

    The peer's time does not grow quite linearly either: the more objects Python holds, the dearer
    the memory and its collection. What is judged is what reading adds to that.
    """
    sizes = [row["bytes"] for row in rows]

    def grown(reader: str) -> tuple[float, float]:
        seconds = [row["bytes"] / 1e6 / row[reader]["mb_per_s"] for row in rows]
        memory = [row[reader]["memory_mb"] for row in rows]
        return exponent(sizes, seconds), exponent(sizes, memory)

    result: dict[str, Any] = {}
    for what, ours, peer in zip(("time", "memory"), grown("ours"), grown("peer"), strict=True):
        result[f"{what}_exponent"] = round(ours, 2)
        result[f"peer_{what}_exponent"] = round(peer, 2)
        result[f"{what}_linear"] = ours <= max(1.0, peer) + LINEAR
    return result


def report(formats: Sequence[str], sizes: Sequence[float], *, repeats: int) -> dict[str, Any]:
    """Make the files, measure them, and return the report."""
    result: dict[str, Any] = {"machine": machine(), "formats": {}, "skipped": {}}
    with tempfile.TemporaryDirectory(prefix="bench-readers-") as folder:
        for name in formats:
            make, suffix = FORMATS[name]
            rows: list[dict[str, Any]] = []
            try:
                for megabytes in sizes:
                    path = Path(folder) / f"{name}-{megabytes:g}{suffix}"
                    size = write(path, make(), size=int(megabytes * 1e6))
                    rows.append(measure(path, size=size, repeats=repeats))
                    say(f"{name:12} {megabytes:>4g} MB: {json.dumps(rows[-1])}")
                    path.unlink()
            except RuntimeError as error:
                result["skipped"][name] = str(error)
                say(f"skipping {name}: {error}")
            else:
                result["formats"][name] = {"sizes": rows, **growth(rows)}
    return result


def table(result: Mapping[str, Any]) -> str:
    """Return the report as text."""
    head = (
        f"{'format':12} {'MB':>5} {'messages':>9} {'MB/s':>7} {'peer MB/s':>10} {'ratio':>6} "
        f"{'memory MB':>10} {'peer MB':>8}"
    )
    lines = [head]
    for name, found in result["formats"].items():
        for row in found["sizes"]:
            ours, peer = row["ours"], row["peer"]
            lines.append(
                f"{name:12} {row['bytes'] / 1e6:5.1f} {row['messages']:9,} "
                f"{ours['mb_per_s']:7.1f} {peer['mb_per_s']:10.1f} {row['speed_ratio']:6.2f} "
                f"{ours['memory_mb']:10.1f} {peer['memory_mb']:8.1f}"
            )
        words = [
            f"{what} grows with size^{found[f'{what}_exponent']}, the peer's with "
            f"size^{found[f'peer_{what}_exponent']}"
            f" ({'linear' if found[f'{what}_linear'] else 'NOT linear'})"
            for what in ("time", "memory")
        ]
        lines += [f"{'':12} {each}" for each in words]
    lines += [f"{name}: skipped, {why}" for name, why in result["skipped"].items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--formats", default=",".join(FORMATS), help="comma-separated")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="MB, comma-separated")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--one", nargs=2, metavar=("FILE", "READER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(one(Path(options.one[0]), options.one[1])))
        return
    sizes = [float(size) for size in options.sizes.split(",")]
    result = report(options.formats.split(","), sizes, repeats=options.repeats)
    print(json.dumps(result, indent=2) if options.json else table(result))


if __name__ == "__main__":
    main()
