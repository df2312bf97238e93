"""What the cache holds: list the models, verify their bytes, remove one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.models.build import TOOLS, converted, is_locked, locked
from pytest_ctxguard.engine.models.disk import Pin, check_pin, check_size, size_below
from pytest_ctxguard.engine.models.files import MANIFEST, read_files, read_recipe
from pytest_ctxguard.engine.models.hub_name import HubName
from pytest_ctxguard.engine.models.hub_supply import HubSupply
from pytest_ctxguard.engine.models.sources import SOURCES, Source
from pytest_ctxguard.engine.models.supply import ORIGIN_FILE, Supply
from pytest_ctxguard.engine.models.wheels import WheelSupply
from pytest_ctxguard.errors import ModelCorrupt, ModelError, ModelMissing
from pytest_ctxguard.progress import Progress, no_progress

State = Literal[
    "ready",
    "downloaded, not converted",
    "partly downloaded",
    "not converted",
    "damaged",
    "building",
    "not downloaded",
]


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that is in the cache, or could be.

    Attributes:
        name: what users write.
        source: where its bytes come from, in words.
        folder: its entry.
        supply: its source; None if that is a file of the user's, outside the cache.
        wanted: what `pytest-ctxguard fetch` is given to mend it.
    """

    name: str
    source: str
    folder: Path
    supply: Supply | None
    wanted: str


@dataclass(frozen=True, slots=True)
class Status:
    """How an entry stands; ``size`` in bytes on disk, ``recipe`` of the converted form if any."""

    entry: Entry
    size: int
    recipe: int | None
    state: State
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the full check of one file found; ``wrong`` is empty for a whole one."""

    entry: Entry
    file: str
    wrong: str


def entries(sources: Mapping[str, Source] = SOURCES) -> tuple[Entry, ...]:
    """Return every model known by name, then what else the cache holds."""
    cache = cache_folder()
    found = []
    for name, source in sources.items():
        supply = WheelSupply(source, cache / name, run=TOOLS.run)
        found.append(Entry(name, "PyPI wheels", cache / name, supply, wanted=name))
    folders = sorted(path for path in cache.iterdir() if path.is_dir()) if cache.exists() else []
    for folder in folders:
        if folder.name.startswith("hub--"):
            found.append(_hub_entry(folder))
        elif folder.name.startswith(("gguf-", "safetensors-")):
            found.append(_local_entry(folder))
    return tuple(found)


def find_entry(name: str, *, sources: Mapping[str, Source] = SOURCES) -> Entry:
    """Return the entry of a name, or of a folder's name where two models share one.

    Raises:
        ModelError: nothing is called so, or several are.
    """
    known = entries(sources)
    matching = [entry for entry in known if name in (entry.name, entry.folder.name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        keys = ", ".join(entry.folder.name for entry in matching)
        raise ModelError(f"{name}: several models are called so. Name one by its folder: {keys}.")
    names = ", ".join(entry.name for entry in known)
    raise ModelError(f"{name}: no such model in {cache_folder()}. There are: {names}.")


def status(entry: Entry) -> Status:
    """Look at sizes and small files only; ``verify`` reads every byte."""
    size = size_below(entry.folder) if entry.folder.exists() else 0
    recipe = _recipe(entry.folder)
    if is_locked(entry.folder):
        return Status(entry, size, recipe, "building")
    if not size:
        return Status(entry, 0, None, "not downloaded")
    try:
        state = _state(entry)
    except ModelCorrupt as error:
        return Status(entry, size, recipe, "damaged", str(error))
    return Status(entry, size, recipe, state)


def verify(entry: Entry, *, progress: Progress = no_progress) -> Iterator[Verdict]:
    """Compare every byte of an entry with its hash, file by file.

    Raises:
        ModelMissing: there is nothing of it in the cache.
    """
    if not entry.folder.exists() or not size_below(entry.folder):
        raise ModelMissing(
            f"{entry.name}: not in {entry.folder.parent}, nothing to verify. Run "
            f"`pytest-ctxguard fetch {entry.wanted}`."
        )
    label, done = f"verifying {entry.name}", 0
    try:
        pins = dict(entry.supply.expected()) if entry.supply else {}
    except ModelCorrupt as error:
        yield Verdict(entry, ORIGIN_FILE, str(error))
        pins = {}
    made = converted(entry.folder)
    if made.exists():
        try:
            files = read_files(made)
        except ModelError as error:
            yield Verdict(entry, f"{made.name}/{MANIFEST}", str(error))
        else:
            yield Verdict(entry, f"{made.name}/{MANIFEST}", "")
            pins |= {f"{made.name}/{name}": pin for name, pin in files.pins.items()}
    total = sum(pin.size for pin in pins.values())
    for name, pin in pins.items():
        progress(label, done, total)
        yield Verdict(entry, name, _wrong(entry.folder / name, pin))
        done += pin.size
    progress(label, total, total)


def remove(entry: Entry, *, progress: Progress = no_progress) -> int:
    """Delete an entry, waiting for whoever works in it; return the bytes freed.

    Raises:
        ModelMissing: there is nothing of it in the cache.
    """
    if not entry.folder.exists():
        raise ModelMissing(f"{entry.name}: not in {entry.folder.parent}, nothing to remove.")
    with locked(entry.folder, progress=progress):
        freed = size_below(entry.folder)
        shutil.rmtree(entry.folder)
    return freed


def _wrong(path: Path, pin: Pin) -> str:
    try:
        check_pin(path, pin, remedy="")
    except ModelCorrupt as error:
        return str(error).strip()
    return ""


def _state(entry: Entry) -> State:
    """Raise ModelCorrupt for damage that shows without reading the large files."""
    supply = entry.supply
    for name, pin in (supply.expected() if supply else {}).items():
        check_size(entry.folder / name, pin, remedy=f"Run `pytest-ctxguard fetch {entry.wanted}`.")
    if converted(entry.folder).exists():
        read_files(converted(entry.folder))
        return "ready"
    if supply is None:
        return "not converted"
    if supply.export() is not None:
        return "ready"
    return "downloaded, not converted" if supply.present() else "partly downloaded"


def _recipe(folder: Path) -> int | None:
    made = converted(folder)
    folders = [made] if made.exists() else sorted(folder.glob("onnx-r*"))
    return read_recipe(folders[-1]) if folders else None


def _hub_entry(folder: Path) -> Entry:
    name, commit = _origin(folder, "commit") or (folder.name, "unknown")
    hub_name = HubName.parse(name) or HubName(name)
    return Entry(name, f"hub, commit {commit[:12]}", folder, HubSupply(hub_name, folder), name)


def _local_entry(folder: Path) -> Entry:
    name, path = _origin(folder, "path") or (folder.name, "of unknown place")
    return Entry(name, f"file {path}", folder, None, path)


def _origin(folder: Path, key: str) -> tuple[str, str] | None:
    """Return the name an entry's record states, and another of its texts; None if it cannot."""
    try:
        origin = json.loads((folder / ORIGIN_FILE).read_text(encoding="utf-8"))
        return str(origin["name"]), str(origin[key])
    except (OSError, ValueError, KeyError, TypeError):
        return None
