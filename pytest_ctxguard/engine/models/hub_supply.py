"""A model from a hub and its entry in the cache: ``origin.json``, and the files in ``files``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.engine.models.candidates import Found, Kind, find_model
from pytest_ctxguard.engine.models.disk import (
    GROWTH,
    Pin,
    check_room,
    check_size,
    combined_sha256,
    pin_of,
)
from pytest_ctxguard.engine.models.files import ModelFiles, rebuild
from pytest_ctxguard.engine.models.hub import PARTIAL, RemoteFile, describe, download
from pytest_ctxguard.engine.models.hub_name import HubName
from pytest_ctxguard.engine.models.supply import ORIGIN_FILE, Weights
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.progress import Progress, note

FILES = "files"


@dataclass(frozen=True, slots=True)
class Origin:
    """What an entry holds, written before the download begins.

    Attributes:
        name: as the user wrote it.
        repo: owner and repository.
        commit: what the revision stood for.
        licence: as the repository's card states it.
        kind: what reads the model.
        main: its file, or its folder for safetensors.
        files: what is needed; a small file's sha256 is filled in when it is here.
    """

    name: str
    repo: str
    commit: str
    licence: str
    kind: Kind
    main: str
    files: tuple[RemoteFile, ...]


@dataclass(frozen=True, slots=True)
class HubSupply:
    """A model on a hub."""

    hub_name: HubName
    folder: Path

    @property
    def name(self) -> str:
        """What users write."""
        return str(self.hub_name)

    @property
    def licence(self) -> str:
        """As the repository's card states it."""
        origin = self.origin()
        return origin.licence if origin else "not stated"

    @property
    def missing(self) -> str:
        """Say that the model is not here, and the remedy."""
        return (
            f"the model {self.name} is not whole in {self.folder.parent}. Run `pytest-ctxguard "
            f"fetch {self.name}`."
        )

    def origin(self) -> Origin | None:
        """Read what the entry holds; None before the first fetch.

        Raises:
            ModelCorrupt: the record cannot be read.
        """
        path = self.folder / ORIGIN_FILE
        if not path.exists():
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            files = tuple(RemoteFile(**each) for each in data.pop("files"))
            return Origin(**data, files=files)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelCorrupt(
                f"{path}: cannot be read ({type(error).__name__}: {error}). Run `pytest-ctxguard "
                f"model rm {self.name}`, then fetch it again."
            ) from error

    def present(self) -> bool:
        """Whether every file is here and was verified when it came."""
        origin = self.origin()
        return origin is not None and all(
            file.sha256 and self._path(file).exists() for file in origin.files
        )

    def obtain(self, *, progress: Progress) -> Weights | None:
        """Download what is missing, verify every file, and record the hashes."""
        origin = self.origin() or self._begin()
        label = f"fetching {self.name}"
        total = sum(file.size for file in origin.files)
        self._prepare(origin, progress=progress)
        done, files = 0, []
        for file in origin.files:
            progress(label, done, total)
            tell = partial(_tell, progress, label, done, total)
            files.append(self._get(file, commit=origin.commit, advance=tell))
            done += file.size
        progress(label, total, total)
        self._write(replace(origin, files=tuple(files)))
        if origin.kind == "optimum":
            return None
        pins = {file.name: Pin(file.sha256, file.size) for file in files}
        one = pins.get(origin.main)  # a GGUF; safetensors name a folder
        return Weights(
            path=self.folder / FILES / origin.main,
            sha256=one.sha256 if one else combined_sha256(pins.items()),
            size=total,
            repo=origin.repo,
            commit=origin.commit,
        )

    def export(self) -> ModelFiles | None:
        """Return an Optimum export that is here; raises ModelCorrupt for a file cut short."""
        origin = self.origin()
        if origin is None or origin.kind != "optimum" or not self.present():
            return None
        top = self.folder / FILES
        pins = {file.name: Pin(file.sha256, file.size) for file in origin.files}
        for name, pin in pins.items():
            check_size(top / name, pin, remedy=rebuild(top))
        return ModelFiles(
            folder=top,
            name=self.name,
            licence=origin.licence,
            source_sha256=combined_sha256(pins.items()),
            recipe=0,
            shape=None,
            pins=pins,
            graph=top / origin.main,
            format="optimum",
            repo=origin.repo,
            commit=origin.commit,
        )

    def expected(self) -> Mapping[str, Pin]:
        """Return the bytes of the files that came whole."""
        origin = self.origin()
        files: Sequence[RemoteFile] = origin.files if origin else ()
        return {
            f"{FILES}/{file.name}": Pin(file.sha256, file.size)
            for file in files
            if file.sha256 and self._path(file).exists()
        }

    def _get(self, file: RemoteFile, *, commit: str, advance: Callable[[int], None]) -> RemoteFile:
        """Download a file unless it is here, verify it, and return it with its sha256."""
        path = self._path(file)
        if not path.exists():
            download(file, path, name=self.hub_name, commit=commit, advance=advance)
        elif not file.matches(path):
            raise ModelCorrupt(
                f"{path}: not the bytes of commit {commit[:12]}. Run `pytest-ctxguard fetch "
                f"{self.name}` to mend it."
            )
        return file if file.sha256 else replace(file, sha256=pin_of(path).sha256)

    def _begin(self) -> Origin:
        """Ask the hub what there is, choose, and record it."""
        repository = describe(self.hub_name)
        found = find_model(
            [file.name for file in repository.files],
            wanted=self.hub_name.file,
            place=self.hub_name.base,
            choose=f"{self.hub_name.base}:",
        )
        _refuse_unsafe(found, place=self.name)
        origin = Origin(
            name=self.name,
            repo=self.hub_name.repo,
            commit=repository.commit,
            licence=repository.licence,
            kind=found.kind,
            main=found.main,
            files=tuple(file for file in repository.files if file.name in found.files),
        )
        self._write(origin)
        return origin

    def _prepare(self, origin: Origin, *, progress: Progress) -> None:
        """Make sure of the room, and say so if an earlier download was cut short."""
        missing = [file for file in origin.files if not self._path(file).exists()]
        halves = list((self.folder / FILES).rglob(f"*{PARTIAL}"))
        if missing and (halves or len(missing) < len(origin.files)):
            here = sum(path.stat().st_size for path in halves)
            here += sum(file.size for file in origin.files if file not in missing)
            note(
                progress,
                f"continuing the download of {self.name}: an earlier one was cut short, "
                f"{here / 1e6:.0f} MB are here",
            )
        needed: float = sum(file.size for file in missing)
        if origin.kind != "optimum":
            needed += sum(file.size for file in origin.files) * GROWTH
        check_room(self.folder, needed, purpose=f"fetching {self.name}")

    def _write(self, origin: Origin) -> None:
        text = json.dumps(asdict(origin), indent=2) + "\n"
        path = self.folder / ORIGIN_FILE
        write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))

    def _path(self, file: RemoteFile) -> Path:
        return self.folder / FILES / file.name


def _tell(progress: Progress, label: str, start: int, total: int, size: int) -> None:
    progress(label, start + size, total)


def _refuse_unsafe(found: Found, *, place: str) -> None:
    """Refuse names that would be written outside the entry."""
    for name in found.files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
            raise ModelError(f"{place}: the hub names a file {name!r}; refused, report this there.")
