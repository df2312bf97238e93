"""A model on disk that can be loaded: converted by us, or an Optimum export taken as it is.

A converted model is a folder with ``model.onnx``, ``model.onnx.data``, the manifest ``model.json``
and, unless its tokenizer is Qwen2.5's own, ``tokenizer.json`` and ``chat_template.jinja``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.export import DATA_FILE, GRAPH_FILE
from pytest_ctxguard.engine.models.disk import Pin, check_pin, check_size, pin_of
from pytest_ctxguard.errors import ModelCorrupt, ModelError

if TYPE_CHECKING:
    from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles

TOKENIZER_FILE = "tokenizer.json"
TEMPLATE_FILE = "chat_template.jinja"
MANIFEST = "model.json"
RECIPE = 2  # raise it whenever the exporter writes other bytes


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model ready to load.

    Attributes:
        folder: where it is.
        name: of the model.
        licence: of the weights.
        source_sha256: of the GGUF it was made from; of several files, the sha256 over their sorted
            lines of name and hash.
        recipe: version of the exporter that made it; 0 for an Optimum export.
        shape: its shape; None for an Optimum export, whose decoder learns it from the graph.
        pins: expected bytes by path inside the folder; of a folder that the user named, none.
        graph: the ONNX file.
        format: ``own`` for a converted model, ``optimum`` for an export with Optimum's names.
        weights_form: how the conversion wrote the weights, where that depends on the processor.
        stop_ids: ids that end an answer; None where the tokenizer is Qwen2.5's own.
        repo: the hub repository it came from, else empty.
        commit: the commit of that repository.
    """

    folder: Path
    name: str
    licence: str
    source_sha256: str
    recipe: int
    shape: ModelConfig | None
    pins: Mapping[str, Pin]
    graph: Path
    format: Literal["own", "optimum"] = "own"
    weights_form: str = ""
    stop_ids: tuple[int, ...] | None = None
    repo: str = ""
    commit: str = ""

    @property
    def config(self) -> ModelConfig:
        """The shape of a converted model; raises ModelError for an Optimum export."""
        if self.shape is None:
            raise ModelError(f"{self.graph}: an Optimum export; open it with open_optimum.")
        return self.shape

    @property
    def own_tokenizer(self) -> bool:
        """Whether the folder holds a tokenizer, else Qwen2.5's is meant."""
        return self.stop_ids is not None or self.format == "optimum"

    def tokenizer(self) -> TokenizerFiles | None:
        """Read the model's tokenizer; None where it is Qwen2.5's own, which this package carries.

        Raises:
            ModelCorrupt: a file is broken or missing.
            ModelError: an Optimum export has no chat template, or no token that ends an answer.
        """
        if self.format == "optimum":
            return _exported_tokenizer(self.folder, self.graph)
        if self.stop_ids is None:
            return None
        from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles

        return TokenizerFiles(
            tokenizer_json=(self.folder / TOKENIZER_FILE).read_bytes().decode("utf-8"),
            chat_template=(self.folder / TEMPLATE_FILE).read_bytes().decode("utf-8"),
            stop_ids=self.stop_ids,
        )

    @property
    def identity(self) -> str:
        """What the answers depend on: name, source bytes and recipe."""
        made = f"recipe {self.recipe}" if self.format == "own" else f"as exported, {self._graph}"
        return f"{self.name}@{self.source_sha256[:12]} {made}"

    @property
    def _graph(self) -> str:
        return self.graph.relative_to(self.folder).as_posix()

    def check(self, *names: str) -> None:
        """Compare the named files, or all, with their hashes.

        Raises:
            ModelCorrupt: a file is missing, cut short or altered.
        """
        for name in names or self.pins:
            check_pin(self.folder / name, self.pins[name], remedy=rebuild(self.folder))


def rebuild(folder: Path) -> str:
    """Say how to mend a damaged model."""
    return f"Delete the folder {folder} or run `pytest-ctxguard fetch`; it is then built again."


def write_manifest(
    folder: Path,
    config: ModelConfig,
    *,
    name: str,
    licence: str,
    source_sha256: str,
    weights_form: str = "",
    stop_ids: Sequence[int] | None = None,
    repo: str = "",
    commit: str = "",
) -> None:
    """Hash every file of a freshly exported model and write ``model.json``."""
    pins = {path.name: pin_of(path) for path in sorted(folder.iterdir()) if path.name != MANIFEST}
    manifest: dict[str, Any] = {
        "recipe": RECIPE,
        "name": name,
        "licence": licence,
        "source_sha256": source_sha256,
        "format": "own",
        "weights_form": weights_form,
        "stop_ids": None if stop_ids is None else list(stop_ids),
        "repo": repo,
        "commit": commit,
        "config": config.as_dict(),
        "files": {file: {"sha256": pin.sha256, "size": pin.size} for file, pin in pins.items()},
    }
    manifest["seal"] = _seal(manifest)
    text = json.dumps(manifest, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_files(folder: Path) -> ModelFiles:
    """Read the manifest, and check all sizes and every hash but the data file's.

    The data's hash is left to whoever loads it, who can compute it meanwhile.

    Raises:
        ModelCorrupt: a file is missing, cut short or altered.
        ModelError: another version of the exporter made it.
    """
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        recipe = data["recipe"]
        files = _parse(data, folder) if recipe == RECIPE else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelCorrupt(
            f"{path}: not the manifest of a whole converted model ({type(error).__name__}: "
            f"{error}). {rebuild(folder)}"
        ) from error
    if files is None:
        raise ModelError(
            f"{path}: made by recipe {recipe}; this version runs recipe {RECIPE}. "
            "Convert the model again: name the file it was made from instead of the folder."
        )
    for name, pin in files.pins.items():
        check_size(folder / name, pin, remedy=rebuild(folder))
    files.check(*(name for name in files.pins if name != DATA_FILE))
    return files


def read_recipe(folder: Path) -> int | None:
    """Return the recipe a converted folder states; None if it states none."""
    try:
        recipe = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["recipe"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return recipe if isinstance(recipe, int) else None


def _exported_tokenizer(folder: Path, graph: Path) -> TokenizerFiles | None:
    from pytest_ctxguard.engine.checkpoints.hub_tokenizer import read_json, read_tokenizer
    from pytest_ctxguard.tokens.tokenizer_files import is_qwen

    here = next(
        (place for place in (folder, graph.parent) if (place / TOKENIZER_FILE).exists()), folder
    )
    config = read_json(here / "config.json")
    own = read_tokenizer(here, config, vocab=int(config.get("vocab_size", 0)))
    return None if is_qwen(own) else own


def _parse(data: Mapping[str, Any], folder: Path) -> ModelFiles:
    """Raise ValueError where the manifest does not agree with its own seal."""
    if data["seal"] != _seal(data):
        raise ValueError("its seal is broken")
    pins = {name: Pin(pin["sha256"], pin["size"]) for name, pin in data["files"].items()}
    stop_ids = data["stop_ids"]
    tokenizer = () if stop_ids is None else (TOKENIZER_FILE, TEMPLATE_FILE)
    for name in (GRAPH_FILE, DATA_FILE, *tokenizer):
        if name not in pins:
            raise ValueError(f"it names no {name}")
    return ModelFiles(
        folder=folder,
        name=data["name"],
        licence=data["licence"],
        source_sha256=data["source_sha256"],
        recipe=data["recipe"],
        shape=ModelConfig.from_dict(data["config"]),
        pins=pins,
        graph=folder / GRAPH_FILE,
        weights_form=data["weights_form"],
        stop_ids=None if stop_ids is None else tuple(stop_ids),
        repo=data["repo"],
        commit=data["commit"],
    )


def _seal(manifest: Mapping[str, Any]) -> str:
    """Hash all of a manifest but its seal."""
    body = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
