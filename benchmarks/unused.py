"""What the plugin costs a suite that does not use it: against ``-p no:ctxguard``, in pairs.

``python benchmarks/unused.py``. Times are the processor's (user and system) of the whole pytest
process, so that a busy machine matters less; a run of each kind comes first and is not counted.
Beside them stands the number of calls that the interpreter makes, which no load changes.
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
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0"}
KINDS = {"without": ("-p", "no:ctxguard"), "with": ()}
ALLOWED = 0.01
COUNTING = """\
import sys, pytest
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
status = pytest.main(sys.argv[1:])
sys.setprofile(None)
print("calls", calls)
sys.exit(status)
"""
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
        calls_without: calls, of Python functions and built-in ones, in a run without.
        calls_loaded: in one with the plugin.
    """

    without: tuple[float, ...]
    loaded: tuple[float, ...]
    calls_without: int
    calls_loaded: int

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
            "calls_without": self.calls_without,
            "calls_with": self.calls_loaded,
            "ratio_of_calls": round(self.calls_loaded / self.calls_without, 5),
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


def arguments(kind: str) -> list[str]:
    """Return what pytest is given."""
    return ["-q", "-p", "no:cacheprovider", *without_others(), *KINDS[kind]]


def calls(folder: Path, kind: str) -> int:
    """Run the suite once and return how many calls the interpreter made."""
    command = [sys.executable, "-c", COUNTING, *arguments(kind)]
    told = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return int(told.stdout.rpartition("calls ")[2])


def processor_seconds(folder: Path, kind: str) -> float:
    """Run the suite once and return the processor seconds its process took.

    Raises:
        RuntimeError: not all tests passed.
    """
    command = [sys.executable, "-m", "pytest", *arguments(kind)]
    process = subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    with process.stdout:
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
    return Measured(
        tuple(seconds["without"]),
        tuple(seconds["with"]),
        calls_without=calls(folder, "without"),
        calls_loaded=calls(folder, "with"),
    )


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status says whether the ratio is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        write_suite(Path(folder))
        measured = measure(Path(folder), pairs=options.pairs)
    print(json.dumps(measured.as_json(), indent=2))
    return int(measured.calls_loaded > (1 + ALLOWED) * measured.calls_without)


if __name__ == "__main__":
    sys.exit(main())
