"""The tiny model as a GGUF file, for what starts from one."""

from __future__ import annotations

from pathlib import Path

from gguf import GGMLQuantizationType, GGUFWriter

from pytest_ctxguard.engine.config import ModelConfig
from tests.engine.tiny import TINY, tiny_weights


def write_tiny_gguf(
    path: Path,
    *,
    config: ModelConfig = TINY,
    seed: int = 0,
    architecture: str = "qwen2",
    pre: str = "qwen2",
) -> Path:
    """Write a tiny model to ``path`` and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, architecture)
    writer.add_tokenizer_pre(pre)
    writer.add_block_count(config.layers)
    writer.add_context_length(config.window)
    writer.add_embedding_length(config.hidden)
    writer.add_feed_forward_length(config.ffn)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_layer_norm_rms_eps(config.eps)
    for name, weight in tiny_weights(config, seed=seed).items():
        kind = None if weight.kind == "F32" else GGMLQuantizationType[weight.kind]
        writer.add_tensor(name, weight.data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
