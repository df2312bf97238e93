"""The baseline: what was measured and accepted, as reviewed JSON beside the tests.

One file per test module. Version 1::

    {"version": 1,
     "entries": {"test_fit": {"": {"billed_input_tokens": {
         "value": 168550, "fingerprint": {"counter": "…", "transcript": "…"}}}}}}

The levels are node id within the module, label of the replay, metric. Keys are sorted, so that
a change reads as a small diff.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.errors import BaselineError

VERSION = 1
SUFFIX = ".ctxguard.json"

State = Literal["new", "unchanged", "improved", "regressed", "incomparable"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured value with its counts and everything it depends on.

    Attributes:
        value: a count (tokens, hits).
        fingerprint: the instrument: what must be equal for two values to be comparable. Never
            the policy or its budget, which are what is measured.
        of: what the count is out of, where it is.
        trials: trial id -> outcome, where it has trials.
    """

    value: int
    fingerprint: Mapping[str, str]
    of: int | None = None
    trials: Mapping[str, str] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of this metric; fields that are not set are left out."""
        row: dict[str, Any] = {"value": self.value, "fingerprint": dict(self.fingerprint)}
        if self.of is not None:
            row["of"] = self.of
        if self.trials is not None:
            row["trials"] = dict(self.trials)
        return row


Metrics = Mapping[str, Metric]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline file's content: (node id within the module, label) -> metrics."""

    path: Path
    entries: Mapping[Key, Metrics] = field(default_factory=dict)

    def metrics(self, key: Key) -> Metrics:
        """Return what was recorded for one replay of one test; empty if nothing was."""
        return self.entries.get(key, {})

    def updated(self, entries: Mapping[Key, Metrics]) -> Baseline:
        """Return a baseline with some entries replaced."""
        return Baseline(self.path, {**self.entries, **entries})


def baseline_path(module: Path) -> Path:
    """Return where a test module's baseline stands: ``test_x.py`` -> ``test_x.ctxguard.json``."""
    return module.with_name(module.stem + SUFFIX)


def read(path: Path) -> Baseline:
    """Read a baseline; a file that does not exist is an empty one.

    Raises:
        BaselineError: the file is there and is not a baseline of this version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Baseline(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(
            f"cannot be read: {error}. Restore it from version control.", path=path
        ) from error
    try:
        data = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise BaselineError(
            f"not JSON ({error}). Restore it from version control.", path=path, line=line
        ) from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        found = data.get("version") if isinstance(data, dict) else None
        raise BaselineError(
            f"version {found!r} is not supported; this release reads {VERSION}. "
            "Delete the file and record it again with --ctxguard-update.",
            path=path,
        )
    try:
        entries = {
            (test, label): {name: metric_from_json(row) for name, row in metrics.items()}
            for test, labels in data["entries"].items()
            for label, metrics in labels.items()
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BaselineError(
            f"its entries are broken ({type(error).__name__}: {error}). "
            "Restore the file from version control.",
            path=path,
        ) from error
    return Baseline(path, entries)


def write(baseline: Baseline) -> None:
    """Write a baseline: sorted, atomic."""
    tree: dict[str, dict[str, Any]] = {}
    for (test, label), metrics in baseline.entries.items():
        rows = {name: metric.as_json() for name, metric in metrics.items()}
        tree.setdefault(test, {})[label] = rows
    data = {"version": VERSION, "entries": tree}
    text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    write_atomically(baseline.path, lambda path: path.write_text(text, encoding="utf-8"))


def metric_from_json(row: Mapping[str, Any]) -> Metric:
    """Return the metric of a JSON object; KeyError, TypeError or ValueError when it is none."""
    value, fingerprint = row["value"], row["fingerprint"]
    of, trials = row.get("of"), row.get("trials")
    for name, count in (("value", value), ("of", 0 if of is None else of)):
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"{name} {count!r} is not a count")
    return Metric(value, dict(fingerprint), of, None if trials is None else dict(trials))


def differing(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields in which two fingerprints differ, sorted."""
    return tuple(sorted(k for k in {*old, *new} if old.get(k) != new.get(k)))
