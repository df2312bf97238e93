"""Which cassette a test records, and how: its ``ctx_cassette`` marks, the options, its name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.names import node_id
from pytest_ctxguard.plugin.settings import Settings
from pytest_ctxguard.plugin.settings_table import RECORD_MODES

USAGE = 'Usage: ctx_cassette("name", ignore=["metadata.request_id"], also=["other"], record="once")'
ARGUMENTS = ("name", "ignore", "also", "record")
FORBIDDEN = "<>?%*:|\"'/\\"  # in a file name on some system; pytest-recording leaves out the same
LONGEST = 200  # characters of a file's name
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Plan:
    """How one test records.

    Attributes:
        path: the cassette.
        mode: record mode.
        reason: where the mode comes from.
        ignore: fields that are not compared.
        also: further cassettes that are replayed.
    """

    path: Path
    mode: Any
    reason: str
    ignore: tuple[object, ...]
    also: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A test's use of a cassette; ``writes`` as things stood when tests were collected."""

    test: str
    writes: bool


CASSETTES = pytest.StashKey[Mapping[Path, tuple[Claim, ...]]]()


def plan(item: pytest.Item, settings: Settings) -> Plan:
    """Return how a test records; of several marks the closest counts, lists add up.

    Raises:
        UsageError: a mark has an unknown or impossible argument, or the test has a ``vcr`` mark.
    """
    if item.get_closest_marker("vcr") is not None:
        raise UsageError(
            "this test has a vcr mark and uses ctx_record; both would record it. Remove the mark: "
            "ctx_record replays the cassettes that it made. Or leave ctx_record out."
        )
    marks = [_arguments(mark) for mark in item.iter_markers("ctx_cassette")]
    folder = item.path.parent / "cassettes" / item.path.stem
    name = next((mark["name"] for mark in marks if mark.get("name")), None)
    marked = next((mark["record"] for mark in marks if mark.get("record")), None)
    mode, reason = settings.record_mode(marked=marked)
    return Plan(
        path=_path(folder, name or _default_name(item)),
        mode=mode,
        reason=reason,
        ignore=tuple(field for mark in marks for field in mark.get("ignore", ())),
        also=tuple(_path(folder, other) for mark in marks for other in mark.get("also", ())),
    )


def claims(items: Iterable[pytest.Item], settings: Settings) -> Mapping[Path, tuple[Claim, ...]]:
    """Return which tests use a cassette, in the order in which they were collected."""
    found: dict[Path, tuple[Claim, ...]] = {}
    for item in items:
        if "ctx_record" not in getattr(item, "fixturenames", ()):
            continue
        try:
            planned = plan(item, settings)
        except UsageError:
            continue  # said at setup, as this test's own error
        writes = planned.mode in ("new_episodes", "all") or (
            planned.mode == "once" and not planned.path.exists()
        )
        claim = Claim(node_id(item), writes)
        found[planned.path] = (*found.get(planned.path, ()), claim)
    return found


def refuse_shared(item: pytest.Item, path: Path) -> None:
    """Refuse a test to use a cassette that it or a test before it writes.

    Raises:
        UsageError: it does.
    """
    first, *others = item.config.stash[CASSETTES].get(path, ()) or (Claim(node_id(item), False),)
    if first.test == node_id(item) or not any(claim.writes for claim in (first, *others)):
        return
    raise UsageError(
        f"{first.test} and {node_id(item)} both record {path}; one would write over the other. "
        "Give each a name of its own with ctx_cassette, or none. To replay another test's "
        "recording, too, name it in ctx_cassette(also=[…])."
    )


def needs_fixture(item: pytest.Item) -> None:
    """Refuse a mark on a test that records nothing.

    Raises:
        UsageError: the test has a mark of its own, and does not use ``ctx_record``.
    """
    marked = any(mark.name == "ctx_cassette" for mark in item.own_markers)
    if marked and "ctx_record" not in getattr(item, "fixturenames", ()):
        raise UsageError(
            "ctx_cassette says how ctx_record records. Name ctx_record in the signature of the "
            "test, or of a fixture it names"
        )


def _arguments(mark: pytest.Mark) -> dict[str, Any]:
    """Return a mark's arguments by name, checked."""
    given = {**dict(zip(ARGUMENTS, mark.args, strict=False)), **mark.kwargs}
    unknown = [name for name in given if name not in ARGUMENTS]
    if unknown or len(mark.args) > 1:
        what = f"no argument {unknown[0]!r}" if unknown else "one argument without a name"
        raise UsageError(f"ctx_cassette takes {what}. {USAGE}")
    for name in ("name", "record"):
        if not isinstance(given.get(name), str | None):
            raise UsageError(f"ctx_cassette: {name} is text, not {given[name]!r}. {USAGE}")
    for name in ("ignore", "also"):
        rows = given.get(name, ())
        if not isinstance(rows, list | tuple) or not all(isinstance(row, str) for row in rows):
            raise UsageError(f"ctx_cassette: {name} is a list of texts, not {rows!r}. {USAGE}")
    if given.get("record") not in (None, *RECORD_MODES):
        raise UsageError(
            f"ctx_cassette: record is {given['record']!r}; it may be {', '.join(RECORD_MODES)}"
        )
    return given


def _path(folder: Path, name: str) -> Path:
    """Return a cassette's path; relative names stand in the folder of the test module."""
    suffixed = name if name.endswith(SUFFIXES) else f"{name}.yaml"
    return Path(os.path.normpath(folder / suffixed))


def _default_name(item: pytest.Item) -> str:
    """Return a name as pytest-recording has it: ``Class.test[id]``, without what no file may have.

    A long name is cut, and a hash keeps it apart from others.
    """
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    name = ".".join([*classes, item.name])
    clean = name.translate({ord(character): "-" for character in FORBIDDEN})
    if len(clean.encode()) <= LONGEST:
        return clean
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{clean.encode()[: LONGEST - 20].decode('utf-8', 'ignore')}...{digest}"
