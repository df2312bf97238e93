"""Tiny random models as GGUF files, for what starts from one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import quantize
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import LLAMA, ModelConfig
from pytest_ctxguard.engine.checkpoints.layout import tensor_shapes
from tests.engine.tiny import TINY
from tests.tokens import tiny_vocabulary

Floats = NDArray[np.float32]
SCALES = {  # type -> where its blocks hold float16 numbers, in halves of the block
    "Q4_0": [0], "Q4_1": [0, 1], "Q5_0": [0], "Q5_1": [0, 1], "Q8_0": [0], "Q4_K": [0, 1],
    "Q5_K": [0, 1], "Q6_K": [104], "Q2_K": [40, 41],
}  # fmt: skip
TYPES = {
    bool: GGUFValueType.BOOL,
    int: GGUFValueType.UINT32,
    float: GGUFValueType.FLOAT32,
    str: GGUFValueType.STRING,
}


def tiny_floats(
    config: ModelConfig = TINY, *, seed: int = 0, tied: bool = True
) -> dict[str, Floats]:
    """Draw the tensors of a model under GGUF names, rows as the original model has them."""
    draw = np.random.default_rng(seed)
    shapes = tensor_shapes(config)
    if tied:
        del shapes["output.weight"]
    return {
        name: draw.standard_normal(shape, dtype=np.float32) * np.float32(shape[-1] ** -0.5)
        + ("norm" in name)
        for name, shape in shapes.items()
    }


def permuted(rows: Floats, heads: int) -> Floats:
    """Interleave the two halves of each head's rows, as llama files store queries and keys."""
    halves = rows.reshape(heads, 2, -1, rows.shape[-1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(rows.shape)


def random_blocks(shape: tuple[int, ...], kind: str, *, seed: int = 0) -> NDArray[np.uint8]:
    """Draw the raw rows of a quantised tensor: any bits, with scales that are small numbers."""
    block, size = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    draw = np.random.default_rng(seed)
    count = int(np.prod(shape)) // block
    halves = draw.integers(0, 1 << 16, (count, size // 2), np.uint16)
    for place in SCALES[kind]:
        halves[:, place] = draw.normal(0, 0.01, count).astype(np.float16).view(np.uint16)
    return halves.view(np.uint8).reshape(*shape[:-1], shape[-1] // block * size)


def stored(values: Floats, kind: str, *, seed: int = 0) -> NDArray[Any]:
    """Encode a matrix as a type; K types, which gguf-py cannot write, get random bits."""
    if "_K" in kind:
        return random_blocks(values.shape, kind, seed=seed)
    return np.asarray(quantize(values, GGMLQuantizationType[kind]))


def metadata(config: ModelConfig) -> dict[str, Any]:
    """Return what the header of a tiny model says."""
    shape = {
        "block_count": config.layers,
        "context_length": config.window,
        "embedding_length": config.hidden,
        "feed_forward_length": config.ffn,
        "attention.head_count": config.heads,
        "attention.head_count_kv": config.kv_heads,
        "attention.key_length": config.head_dim,
        "attention.value_length": config.head_dim,
        "rope.freq_base": config.rope_theta,
        "rope.dimension_count": config.head_dim,
        "attention.layer_norm_rms_epsilon": config.eps,
    }
    return {
        **{f"{config.architecture}.{name}": value for name, value in shape.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": list(tiny_vocabulary.TOKENS),
        "tokenizer.ggml.token_type": list(tiny_vocabulary.TYPES),
        "tokenizer.ggml.merges": list(tiny_vocabulary.MERGES),
        "tokenizer.ggml.eos_token_id": tiny_vocabulary.ID["<|im_end|>"],
        "tokenizer.chat_template": tiny_vocabulary.TEMPLATE,
    }


def write_tiny_gguf(
    path: Path,
    *,
    config: ModelConfig = TINY,
    seed: int = 0,
    tied: bool = True,
    kind: str = "Q8_0",
    changes: Mapping[str, Any] | None = None,
    tensors: Mapping[str, tuple[NDArray[Any], str] | None] | None = None,
    architecture: str | None = None,
) -> Path:
    """Write a tiny model to ``path`` and return it.

    Matrices are stored as ``kind``. ``changes`` of the metadata and ``tensors`` replace or add;
    None leaves one out.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, architecture or config.architecture)
    for key, value in {**metadata(config), **(changes or {})}.items():
        if isinstance(value, list):
            writer.add_array(key, value)
        elif value is not None:
            writer.add_key_value(key, value, TYPES[type(value)])
    floats = tiny_floats(config, seed=seed, tied=tied)
    heads = {"attn_q.weight": config.heads, "attn_k.weight": config.kv_heads}
    encoded: dict[str, tuple[NDArray[Any], str] | None] = {}
    for name, values in floats.items():
        part = name.partition(".")[2].partition(".")[2]
        if config.architecture == LLAMA and part in heads:
            values = permuted(values, heads[part])
        kept = "F32" if values.ndim == 1 else kind
        encoded[name] = (stored(values, kept, seed=seed), kept)
    for name, tensor in {**encoded, **(tensors or {})}.items():
        if tensor is not None:
            data, kept = tensor
            writer.add_tensor(name, data, raw_dtype=GGMLQuantizationType[kept])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
