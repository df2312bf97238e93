"""A converted model on disk: ``model.onnx``, ``model.onnx.data`` and ``model.json`` beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.engine.config import ModelConfig
from pytest_ctxguard.engine.fetch import check_pin
from pytest_ctxguard.engine.sources import Pin
from pytest_ctxguard.errors import ModelCorrupt, ModelError

GRAPH_FILE = "model.onnx"
DATA_FILE = "model.onnx.data"
MANIFEST = "model.json"
RECIPE = 1  # raise it whenever the exporter writes other bytes


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A converted model.

    Attributes:
        folder: where it is.
        name: of the model.
        licence: of the weights.
        gguf_sha256: of the file it was made from.
        recipe: version of the exporter that made it.
        config: its shape.
        pins: expected bytes of the graph and data files, by file name.
    """

    folder: Path
    name: str
    licence: str
    gguf_sha256: str
    recipe: int
    config: ModelConfig
    pins: Mapping[str, Pin]

    @property
    def identity(self) -> str:
        """What the answers depend on: name, source bytes and recipe."""
        return f"{self.name}@{self.gguf_sha256[:12]} recipe {self.recipe}"

    def check(self, *names: str) -> None:
        """Compare the named files with their hashes; raises ModelCorrupt."""
        for name in names:
            check_pin(self.folder / name, self.pins[name], remedy=rebuild(self.folder))


def rebuild(folder: Path) -> str:
    """Say how to mend a damaged converted model."""
    return f"Delete the folder {folder} or run `pytest-ctxguard fetch`; it is then built again."


def write_manifest(
    folder: Path, config: ModelConfig, *, name: str, licence: str, gguf_sha256: str
) -> None:
    """Hash the files of a freshly exported model and write ``model.json``."""
    pins = {}
    for file_name in (GRAPH_FILE, DATA_FILE):
        with (folder / file_name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        pins[file_name] = {"sha256": digest, "size": (folder / file_name).stat().st_size}
    manifest = {
        "recipe": RECIPE,
        "name": name,
        "licence": licence,
        "gguf_sha256": gguf_sha256,
        "config": config.as_dict(),
        "files": pins,
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_files(folder: Path) -> ModelFiles:
    """Read the manifest, and check the graph's bytes and the data's size.

    The data's hash is left to whoever loads it, who can compute it meanwhile.

    Raises:
        ModelCorrupt: a file is missing, cut short or altered.
        ModelError: another version of the exporter made it.
    """
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        files = ModelFiles(
            folder=folder,
            name=data["name"],
            licence=data["licence"],
            gguf_sha256=data["gguf_sha256"],
            recipe=data["recipe"],
            config=ModelConfig.from_dict(data["config"]),
            pins={name: Pin(pin["sha256"], pin["size"]) for name, pin in data["files"].items()},
        )
        sizes = {name: (folder / name).stat().st_size for name in (GRAPH_FILE, DATA_FILE)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelCorrupt(
            f"{path}: not the manifest of a whole converted model ({type(error).__name__}: "
            f"{error}). {rebuild(folder)}"
        ) from error
    if files.recipe != RECIPE:
        raise ModelError(
            f"{path}: made by recipe {files.recipe}; this version runs recipe {RECIPE}. "
            "Convert the GGUF again: name the .gguf file instead of the folder."
        )
    for name, size in sizes.items():
        if size != files.pins[name].size:
            raise ModelCorrupt(
                f"{folder / name}: expected {files.pins[name].size:,} bytes, found {size:,}. "
                + rebuild(folder)
            )
    files.check(GRAPH_FILE)
    return files
