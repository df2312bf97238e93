"""A project whose model is a tiny real one, and a look at the processes that run it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_ctxguard.cache import cache_folder
from tests.plugin.project import Project, Result, mini_transcript

PROC = Path("/proc")
PATIENCE = 60.0


def with_engine(
    project: Project, model: Path, *, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """Return the project with a tiny model, and a store and a temporary folder of its own."""
    cache = folder / "cache"
    cache.mkdir()
    for entry in cache_folder().iterdir():  # the tokenizer takes long to make
        if entry.name != "answers":
            (cache / entry.name).symlink_to(entry)
    monkeypatch.setenv("CTXGUARD_CACHE", str(cache))
    monkeypatch.setenv("TMPDIR", str(folder))
    mine = project.with_backend("none").with_transcript(mini_transcript(turns=5))
    return mine.with_ini(ctxguard_model=str(model), ctxguard_engine="shared")


def processes(*words: str) -> list[int]:
    """Return the processes that have all these words in their command lines."""
    found = []
    for path in PROC.glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue  # it has ended
        if all(word.encode() in line for word in words):
            found.append(int(path.parent.name))
    return found


def engines(model: Path) -> list[int]:
    """Return the processes that run a model for workers."""
    return processes("pytest_ctxguard.cli.share", str(model))


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; give up after a minute."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.05)


def reported(result: Result, *, name: str = "report.json") -> dict[str, Any]:
    """Return a run's JSON report without what may differ between equal runs."""
    report: dict[str, Any] = json.loads((result.root / name).read_text())
    assert report.pop("effort")["started"]
    return report


def spent(result: Result) -> str:
    """Return what the report says of asking the model, on one line."""
    words = result.section.partition("\nmodel: ")[2].split()
    assert words, "nothing is said of the model"
    return "model: " + " ".join(words)
