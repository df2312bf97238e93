"""Read a model as its makers publish it: a GGUF file, or a folder with safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.gguf import read_gguf
from pytest_ctxguard.engine.checkpoints.hub_folder import CONFIG, is_hub_folder, read_hub_folder
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.errors import ModelError, ModelMissing
from pytest_ctxguard.tokens.model_encoder import ModelEncoder
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles, is_qwen

__all__ = ["Checkpoint", "TokenizerFiles", "read_checkpoint"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model before conversion.

    Attributes:
        config: its shape.
        weights: its tensors by their GGUF names, rows in the order that rotates half a head;
            without ``output.weight`` the head is the embedding.
        tokenizer: its tokenizer; None for Qwen2.5's own, which this package carries.
    """

    config: ModelConfig
    weights: Mapping[str, Weight]
    tokenizer: TokenizerFiles | None


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a ``.gguf`` file or a folder in the hub's layout.

    Tensors are views of the mapped files, so the files must stay while they are used.

    Raises:
        ModelMissing: there is nothing at the path.
        ModelCorrupt: a file is broken, cut short or missing.
        ModelError: it holds a model this engine cannot run.
    """
    if path.is_dir():
        if not is_hub_folder(path):
            raise ModelError(
                f"{path}: no model in the hub's layout: there is no {CONFIG}. Name the folder "
                "that holds it, or a .gguf file."
            )
        parts = read_hub_folder(path)
    elif path.exists():
        parts = read_gguf(path)
    else:
        raise ModelMissing(f"{path}: there is no such file or folder.")
    own = None if is_qwen(parts.tokenizer) else parts.tokenizer
    if own is not None:
        _try_tokenizer(path, own)
    return Checkpoint(config=parts.config, weights=parts.weights, tokenizer=own)


def _try_tokenizer(path: Path, files: TokenizerFiles) -> None:
    """Build the encoder once, so that a tokenizer that cannot work is found before converting."""
    try:
        ModelEncoder(files, name=path.name)
    except ModelError as error:
        raise type(error)(f"{path}: {error}") from error
