"""Read a Qwen2 decoder from a GGUF file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ctxguard.engine.config import ModelConfig
from pytest_ctxguard.engine.quantize import Weight
from pytest_ctxguard.errors import ModelCorrupt, ModelError

ARCHITECTURE = "qwen2"
PRE_TOKENIZER = "qwen2"


@dataclass(frozen=True, slots=True)
class GgufModel:
    """What a GGUF file says: the configuration and the tensors by their GGUF names."""

    config: ModelConfig
    weights: dict[str, Weight]


def read_gguf(path: Path) -> GgufModel:
    """Read configuration and tensors (views of the mapped file, still quantised).

    Raises:
        ModelCorrupt: the file is broken or cut short.
        ModelError: it holds a model this engine cannot run.
    """
    from gguf import GGUFReader

    try:
        reader = GGUFReader(path)
        weights = {
            tensor.name: Weight(data=tensor.data, kind=tensor.tensor_type.name)
            for tensor in reader.tensors
        }
    except (ValueError, IndexError, KeyError, OverflowError, UnicodeDecodeError) as error:
        raise ModelCorrupt(
            f"{path}: not a whole GGUF file ({error}). Copy or fetch it again."
        ) from error
    _check_kind(path, reader)
    try:
        return GgufModel(config=_read_config(reader, weights), weights=weights)
    except KeyError as error:
        raise ModelCorrupt(f"{path}: the key {error} is missing. Fetch the file again.") from error


def _field(reader: Any, name: str) -> Any:
    return reader.fields[name].contents()


def _check_kind(path: Path, reader: Any) -> None:
    """Refuse a model of another architecture or another tokenizer."""
    expected = {"general.architecture": ARCHITECTURE, "tokenizer.ggml.pre": PRE_TOKENIZER}
    for key, wanted in expected.items():
        found = _field(reader, key) if key in reader.fields else "nothing"
        if found != wanted:
            raise ModelError(
                f"{path}: {key} is {found!r}. This engine runs GGUF files with {key} "
                f"{wanted!r}, such as Qwen2.5-0.5B-Instruct or Qwen2.5-Coder-0.5B-Instruct."
            )


def _read_config(reader: Any, weights: dict[str, Weight]) -> ModelConfig:
    heads = int(_field(reader, "qwen2.attention.head_count"))
    hidden = int(_field(reader, "qwen2.embedding_length"))
    return ModelConfig(
        layers=int(_field(reader, "qwen2.block_count")),
        hidden=hidden,
        heads=heads,
        kv_heads=int(_field(reader, "qwen2.attention.head_count_kv")),
        head_dim=hidden // heads,
        ffn=int(_field(reader, "qwen2.feed_forward_length")),
        vocab=len(weights["token_embd.weight"].data),
        window=int(_field(reader, "qwen2.context_length")),
        rope_theta=float(_field(reader, "qwen2.rope.freq_base")),
        eps=float(_field(reader, "qwen2.attention.layer_norm_rms_epsilon")),
    )
