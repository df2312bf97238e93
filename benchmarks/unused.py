"""What the plugin costs a suite that does not use it: against ``-p no:ctxguard``, in pairs.

``python benchmarks/unused.py``. Times are the processor's (user and system) of the whole pytest
process, so that a busy machine matters less; a run of each kind comes first and is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

MODULES, TESTS = 20, 50
KINDS = {"without": ("-p", "no:ctxguard"), "with": ()}
ALLOWED = 0.01
MODULE = """\
import pytest


@pytest.fixture
def number():
    return {number}


{tests}
"""
TEST = """\
def test_{name}(number):
    assert number + {name} == {sum}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The processor seconds of every run, in pairs.

    Attributes:
        without: seconds of each run with ``-p no:ctxguard``.
        loaded: of the run beside it with the plugin.
    """

    without: tuple[float, ...]
    loaded: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median with the plugin over the median without."""
        return statistics.median(self.loaded) / statistics.median(self.without)

    @property
    def ratio_within_pairs(self) -> float:
        """The median of the ratios of pairs."""
        pairs = zip(self.loaded, self.without, strict=True)
        return statistics.median(loaded / without for loaded, without in pairs)

    def as_json(self) -> dict[str, object]:
        """Return what the report has."""
        return {
            "tests": MODULES * TESTS,
            "pairs": len(self.without),
            "ratio_of_medians": round(self.ratio, 4),
            "median_of_ratios": round(self.ratio_within_pairs, 4),
            "dearer": sum(a > b for a, b in zip(self.loaded, self.without, strict=True)),
            "without_s": round(statistics.median(self.without), 4),
            "with_s": round(statistics.median(self.loaded), 4),
            "spread_without_s": [round(min(self.without), 4), round(max(self.without), 4)],
            "spread_with_s": [round(min(self.loaded), 4), round(max(self.loaded), 4)],
            "load": round(os.getloadavg()[0], 1),
            "pytest": pytest.__version__,
            "python": platform.python_version(),
        }


def write_suite(folder: Path) -> None:
    """Write a suite of 1,000 short tests, none of them guarded."""
    for module in range(MODULES):
        tests = [TEST.format(name=name, sum=module + name) for name in range(TESTS)]
        source = MODULE.format(number=module, tests="\n\n".join(tests))
        (folder / f"test_module_{module:02}.py").write_text(source)


def without_others() -> list[str]:
    """Return what keeps every other installed plugin out: it would make our share look smaller."""
    names = {point.name for point in metadata.entry_points(group="pytest11")} - {"ctxguard"}
    return [argument for name in sorted(names) for argument in ("-p", f"no:{name}")]


def processor_seconds(folder: Path, kind: str) -> float:
    """Run the suite once and return the processor seconds its process took.

    Raises:
        RuntimeError: not all tests passed.
    """
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *without_others()]
    command = [*plain, *KINDS[kind]]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    told = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or f"{MODULES * TESTS} passed" not in told:
        raise RuntimeError(told)
    return used.ru_utime + used.ru_stime


def measure(folder: Path, *, pairs: int) -> Measured:
    """Run the suite in pairs, the order of each drawn."""
    rng = random.Random("unused")  # noqa: S311 - which goes first, nothing secret
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        processor_seconds(folder, kind)
    for _ in range(pairs):
        order = list(KINDS)
        if rng.random() < 0.5:
            order.reverse()
        for kind in order:
            seconds[kind].append(processor_seconds(folder, kind))
    return Measured(tuple(seconds["without"]), tuple(seconds["with"]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status says whether the ratio is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        write_suite(Path(folder))
        measured = measure(Path(folder), pairs=options.pairs)
    print(json.dumps(measured.as_json(), indent=2))
    return int(measured.ratio_within_pairs > 1 + ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
