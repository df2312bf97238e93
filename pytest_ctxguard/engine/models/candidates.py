"""Find the model among the files of a folder or a hub repository, by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from pytest_ctxguard.errors import ModelError

Kind = Literal["gguf", "safetensors", "optimum"]

SHARD = re.compile(r"(?:model|model-\d+-of-\d+)\.safetensors(?:\.index\.json)?")
SPLIT_GGUF = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
TEXTS = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "chat_template.json",
)


@dataclass(frozen=True, slots=True)
class Found:
    """One model among the files of a folder.

    Attributes:
        kind: what reads it.
        main: the GGUF or ONNX file, or the folder of a safetensors layout ("" is the top).
        files: every file it needs, the main one included.
    """

    kind: Kind
    main: str
    files: tuple[str, ...]

    @property
    def label(self) -> str:
        """What a user writes to choose it."""
        if self.kind != "safetensors":
            return self.main
        return self.main or "model.safetensors"


def find_model(names: Iterable[str], *, wanted: str = "", place: str, choose: str) -> Found:
    """Return the one model to use among files named by paths with slashes.

    A safetensors layout at the top wins over exports and quantised copies beside it.

    Args:
        names: the files.
        wanted: the user's choice: a file, or a folder with one model; empty means none was made.
        place: what to call the folder in an error.
        choose: what a user writes before the label of a choice.

    Raises:
        ModelError: there is none, or several and none is wanted.
    """
    files = sorted(names)
    models = _models(files)
    if wanted:
        folder = wanted.strip("/")
        exact = [model for model in models if folder in (model.main, model.label)]
        inside = [model for model in models if model.main.startswith(f"{folder}/")]
        matching = exact or inside
    else:
        matching = [model for model in models if (model.kind, model.main) == ("safetensors", "")]
        matching = matching or models
    if len(matching) == 1:
        return matching[0]
    raise ModelError(_explain(matching or models, files, wanted=wanted, place=place, choose=choose))


def _explain(
    models: Sequence[Found], files: Sequence[str], *, wanted: str, place: str, choose: str
) -> str:
    if not models:
        split = any(SPLIT_GGUF.search(name) for name in files)
        why = " A GGUF in several files is not supported; join them first." if split else ""
        shown = ", ".join(files[:8]) + (" …" if len(files) > 8 else "") if files else "nothing"
        return (
            f"{place}: no model this engine can run (a .gguf file, model.safetensors with "
            f"config.json, or an .onnx file with config.json). It holds {shown}.{why}"
        )
    lines = "".join(f"\n  {choose}{model.label}  ({model.kind})" for model in models)
    if wanted:
        return f"{place}: {wanted!r} does not name one of its models. Choose one of:{lines}"
    return f"{place}: holds {len(models)} models. Choose one:{lines}"


def _models(files: Sequence[str]) -> list[Found]:
    found = [
        Found("gguf", name, (name,))
        for name in files
        if name.endswith(".gguf") and not SPLIT_GGUF.search(name)
    ]
    for folder in sorted({_folder(name) for name in files if name.endswith(".safetensors")}):
        shards = [name for name in _inside(files, folder) if SHARD.fullmatch(_base(name))]
        if any(name.endswith(".safetensors") for name in shards) and _has_config(files, folder):
            found.append(Found("safetensors", folder, (*shards, *_texts(files, folder))))
    for name in files:
        folder = _folder(name)
        if name.endswith(".onnx") and (_has_config(files, folder) or _has_config(files, "")):
            data = [other for other in files if _is_data_of(other, name)]
            texts = dict.fromkeys((*_texts(files, ""), *_texts(files, folder)))
            found.append(Found("optimum", name, (name, *data, *texts)))
    return found


def _is_data_of(name: str, graph: str) -> bool:
    """Whether a file holds tensors of a graph: ``model.onnx_data``, ``_data_1`` or ``.data``."""
    return name.startswith((f"{graph}_data", f"{graph}.data"))


def _has_config(files: Sequence[str], folder: str) -> bool:
    return _join(folder, "config.json") in files


def _texts(files: Sequence[str], folder: str) -> list[str]:
    return [_join(folder, name) for name in TEXTS if _join(folder, name) in files]


def _inside(files: Sequence[str], folder: str) -> list[str]:
    return [name for name in files if _folder(name) == folder]


def _folder(name: str) -> str:
    parent = PurePosixPath(name).parent.as_posix()
    return "" if parent == "." else parent


def _base(name: str) -> str:
    return PurePosixPath(name).name


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
