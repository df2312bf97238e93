"""What a baseline holds: metrics with their instrument, under a test and a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SUFFIX = ".ctxguard.json"

State = Literal["new", "unchanged", "improved", "regressed", "stale", "incomparable"]
WORST_FIRST: tuple[State, ...] = (
    "incomparable",
    "regressed",
    "stale",
    "new",
    "improved",
    "unchanged",
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Why a value stands in the baseline although it is no better than the one before.

    Attributes:
        reason: what the person said who accepted it.
        was: the value before; ``None``: there was none.
    """

    reason: str
    was: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured value with its counts and everything it depends on.

    Attributes:
        value: a count (tokens, hits).
        fingerprint: the instrument: what must be equal for two values to be comparable. Never
            the policy or its budget, which are what is measured.
        of: what the count is out of, where it is.
        trials: trial id -> outcome, where it has trials.
        accepted: of a value in the baseline: with what reason it was accepted, if it was.
    """

    value: int
    fingerprint: Mapping[str, str]
    of: int | None = None
    trials: Mapping[str, str] | None = None
    accepted: Accepted | None = None

    def __str__(self) -> str:
        count = f"{self.value:,}"
        return count if self.of is None else f"{count} of {self.of:,}"

    def measures_as(self, other: Metric) -> bool:
        """Tell whether two metrics are one measurement, whatever was said of it."""
        return (self.value, self.of, self.fingerprint, self.trials) == (
            other.value,
            other.of,
            other.fingerprint,
            other.trials,
        )


Metrics = Mapping[str, Metric]
Key = tuple[str, str]
"""Node id within the module, and label."""
Entries = Mapping[Key, Metrics]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline file's content: (node id within the module, label) -> metrics."""

    path: Path
    entries: Entries = field(default_factory=dict)

    def metrics(self, key: Key) -> Metrics:
        """Return what was recorded for one replay of one test; empty if nothing was."""
        return self.entries.get(key, {})


def baseline_path(module: Path) -> Path:
    """Return where a test module's baseline stands: ``test_x.py`` -> ``test_x.ctxguard.json``."""
    return module.with_name(module.stem + SUFFIX)


def module_path(baseline: str) -> str:
    """Return the module a baseline is of: ``a/test_x.ctxguard.json`` -> ``a/test_x.py``."""
    return baseline.removesuffix(SUFFIX) + ".py"


def differing(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields in which two fingerprints differ, sorted."""
    return tuple(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))


def worst(states: Iterable[State]) -> State | Literal[""]:
    """Return the worst of several states; of none, empty."""
    found = sorted(states, key=WORST_FIRST.index)
    return found[0] if found else ""
