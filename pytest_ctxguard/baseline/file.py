"""The baseline file: read whole or not at all; written sorted, atomically, one at a time.

One file per test module. Version 1::

    {"version": 1,
     "instruments": {"5f0c8d21": {"counter": "…", "transcript": "…"}},
     "entries": {"test_fit": {"": {"billed_input_tokens": {
         "value": 168550, "instrument": "5f0c8d21"}}}}}

The levels of ``entries`` are node id within the module, label, metric. Keys are sorted, an
instrument stands once, and its id follows from what it says: a change reads as a small diff.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_ctxguard.baseline.places import Places, find_conflict
from pytest_ctxguard.baseline.rows import as_row, from_row
from pytest_ctxguard.baseline.values import Baseline, Entries, Metric
from pytest_ctxguard.cache import cache_folder, write_atomically
from pytest_ctxguard.errors import BaselineError, UsageError

VERSION = 1
SECONDS = 30  # a baseline is written in milliseconds
RESTORE = "Restore the file from version control."
MERGE = (
    "Take one side whole (git checkout --ours or --theirs, then the file's name), and run "
    "pytest --ctxguard to see what it lacks."
)


def read(path: Path) -> Baseline:
    """Read a baseline; a file that does not exist is an empty one.

    Raises:
        BaselineError: the file is there and is not a baseline of this version.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Baseline(path)
    except OSError as error:
        raise BaselineError(f"cannot be read: {error}. {RESTORE}", path=path) from error
    return parse(data, path=path)


def parse(data: bytes, *, path: Path) -> Baseline:
    """Return the baseline that a file's bytes are.

    Args:
        data: the bytes.
        path: where they belong, for errors and for the result.

    Raises:
        BaselineError: they are not a baseline of this version, or a merge has left two in one;
            it names the line.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BaselineError(f"not UTF-8 ({error}). {RESTORE}", path=path, line=line) from error
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        if conflict := find_conflict(text):
            raise BaselineError(
                f"a merge has left its marks. {MERGE}", path=path, line=conflict
            ) from None
        at = getattr(error, "lineno", None)
        raise BaselineError(f"not JSON ({error}). {RESTORE}", path=path, line=at) from error
    return Baseline(path, _entries(tree, _Reader(path, Places(text))))


def write(baseline: Baseline) -> None:
    """Write a baseline: sorted, atomic."""
    text = rendered(baseline.entries)
    write_atomically(baseline.path, lambda path: path.write_bytes(text.encode()))


def edited(path: Path, change: Callable[[Entries], Entries]) -> tuple[Entries, Entries]:
    """Read, change and write a baseline, while no other process does; return before and after.

    Nothing is written where nothing changes. A file without entries is removed.

    Raises:
        BaselineError: the file is not a baseline.
        UsageError: another process is at it, and does not end.
    """
    with _locked(path):
        before = read(path).entries
        after = change(before)
        if not after:
            path.unlink(missing_ok=True)
        elif after != before:
            write(Baseline(path, after))
    return before, after


def rendered(entries: Entries) -> str:
    """Return a baseline's text."""
    metrics = chain.from_iterable(each.values() for each in entries.values())
    instruments = {_identity(metric): dict(metric.fingerprint) for metric in metrics}
    size = shortest(instruments)
    tree: dict[str, dict[str, Any]] = {}
    for (test, label), measured in entries.items():
        tree.setdefault(test, {})[label] = {
            name: as_row(metric, instrument=_identity(metric)[:size])
            for name, metric in measured.items()
        }
    named = {identity[:size]: each for identity, each in instruments.items()}
    data = {"version": VERSION, "instruments": named, "entries": tree}
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def _identity(metric: Metric) -> str:
    text = json.dumps(dict(metric.fingerprint), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def shortest(identities: Collection[str], *, least: int = 8) -> int:
    """Return to what length identities may be cut while each stays its own."""
    length = least
    while len({identity[:length] for identity in identities}) < len(identities):
        length += 1
    return length


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let no other process change this file meanwhile.

    Raises:
        UsageError: another one is at it, and does not end.
    """
    from filelock import FileLock, Timeout

    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]
    folder = cache_folder() / "baselines"  # beside the tests, the lock would be committed
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", timeout=SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"{path}: another process has been writing this baseline for {SECONDS} s. Wait for it, "
            "or end it, and run again"
        ) from None
    try:
        yield
    finally:
        lock.release()


class _Reader:
    """Says of a part of the file what is wrong with it, and where."""

    def __init__(self, path: Path, places: Places) -> None:
        self.path, self.places = path, places
        if places.twice is not None:
            key, line = places.twice
            raise BaselineError(
                f"the key {key!r} stands twice in one object, as after a merge. {MERGE}",
                path=path,
                line=line,
            )

    def wrong(self, what: str, *keys: str, remedy: str = RESTORE) -> BaselineError:
        return BaselineError(f"{what}. {remedy}", path=self.path, line=self.places.line(keys))

    def items(self, value: object, *keys: str) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise self.wrong(f"{keys[-1]!r} is no object", *keys)
        yield from value.items()


def _entries(tree: object, reader: _Reader) -> Entries:
    if not isinstance(tree, dict) or tree.get("version") != VERSION:
        found = tree.get("version") if isinstance(tree, dict) else None
        raise reader.wrong(
            f"version {found!r} is not supported; this release reads {VERSION}",
            "version",
            remedy="Delete the file and record it again with --ctxguard-update.",
        )
    for key in ("entries", "instruments"):
        if key not in tree:
            raise reader.wrong(f"{key!r} is missing")
    if unknown := sorted(set(tree) - {"version", "entries", "instruments"}):
        raise reader.wrong(f"{unknown[0]!r} is no part of a baseline", unknown[0])
    instruments = dict(reader.items(tree["instruments"], "instruments"))
    return {
        (test, label): {
            name: _metric(row, instruments, reader, keys=("entries", test, label, name))
            for name, row in reader.items(metrics, "entries", test, label)
        }
        for test, labels in reader.items(tree["entries"], "entries")
        for label, metrics in reader.items(labels, "entries", test)
    }


def _metric(
    row: object, instruments: Mapping[str, Any], reader: _Reader, *, keys: tuple[str, ...]
) -> Metric:
    fields = dict(reader.items(row, *keys))
    id = fields.get("instrument")
    if not isinstance(id, str) or id not in instruments:
        raise reader.wrong(
            f"{keys[-1]!r} is measured with the instrument {id!r}, and the file does not have it",
            *keys,
            remedy=MERGE,
        )
    try:
        return from_row(fields, instruments)
    except ValueError as error:
        raise reader.wrong(f"{keys[-1]!r}: {error}", *keys) from None
