"""A model that the user has on disk and names by its path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.cache import cache_folder, write_atomically
from pytest_ctxguard.engine.models.candidates import Found, find_model
from pytest_ctxguard.engine.models.disk import Pin, combined_sha256, pin_of
from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.engine.models.supply import ORIGIN_FILE, Weights
from pytest_ctxguard.progress import Progress

LICENCE = "as its owner states"


@dataclass(frozen=True, slots=True)
class LocalSupply:
    """A file or folder outside the cache; only what is converted from it is kept there."""

    top: Path
    found: Found
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """What the model is called: the file's or the folder's name."""
        if self.found.kind == "gguf":
            return Path(self.found.main).stem
        return self.top.name

    @property
    def folder(self) -> Path:
        """The model's entry in the cache, named by its bytes, so that a copy is not built again."""
        return cache_folder() / f"{self.found.kind}-{self.sha256[:12]}"

    @property
    def licence(self) -> str:
        """Say that we do not know it."""
        return LICENCE

    @property
    def missing(self) -> str:
        """Say that the file is gone."""
        return f"{self.top / self.found.main}: not there any more. Name the model's new place."

    def present(self) -> bool:
        """Whether the file is where it was."""
        return (self.top / self.found.main).exists()

    def obtain(self, *, progress: Progress) -> Weights | None:
        """Note in the entry where the model came from."""
        if self.found.kind == "optimum":
            return None
        path = self.top / self.found.main
        text = json.dumps({"name": self.name, "path": str(path), "kind": self.found.kind})
        write_atomically(self.folder / ORIGIN_FILE, lambda file: file.write_text(text + "\n"))
        return Weights(path, sha256=self.sha256, size=self.size)

    def export(self) -> ModelFiles | None:
        """Return an Optimum export as it is; its bytes are nobody's to vouch for."""
        if self.found.kind != "optimum":
            return None
        return ModelFiles(
            folder=self.top,
            name=self.name,
            licence=self.licence,
            source_sha256=self.sha256,
            recipe=0,
            shape=None,
            pins={},
            graph=self.top / self.found.main,
            format="optimum",
        )

    def expected(self) -> Mapping[str, Pin]:
        """Return nothing: the source is not in the cache."""
        return {}


def local_supply(path: Path) -> LocalSupply:
    """Find the model in a folder, or take the file named, and hash it.

    Raises:
        ModelError: there is no model, or several.
    """
    if path.suffix == ".gguf" and path.is_file():
        top, found = path.parent, Found("gguf", path.name, (path.name,))
    else:
        top, wanted = _split(path)
        names = [file.relative_to(top).as_posix() for file in _listing(top)]
        found = find_model(names, wanted=wanted, place=str(path), choose=f"{top}/")
    pins = {name: pin_of(top / name) for name in found.files}
    one = pins.get(found.main) if found.kind == "gguf" else None
    digest = one.sha256 if one else combined_sha256(pins.items())
    return LocalSupply(top, found, sha256=digest, size=sum(pin.size for pin in pins.values()))


def _split(path: Path) -> tuple[Path, str]:
    """Return the folder that holds ``config.json``, and the file chosen in it."""
    if path.is_dir():
        return path, ""
    if path.suffix == ".onnx" and not (path.parent / "config.json").exists():
        return path.parent.parent, f"{path.parent.name}/{path.name}"
    return path.parent, path.name


def _listing(top: Path) -> list[Path]:
    """List the files of a folder and of the folders in it, as deep as the hub's layouts go."""
    inside = [path for path in top.iterdir() if path.is_dir()]
    return [path for folder in (top, *inside) for path in folder.iterdir() if path.is_file()]
