"""A tiny random model, exported by the code that exports the real one.

It has Qwen2.5's vocabulary, so text goes in and out; what it says means nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import quantize

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.engine.export.graph import export
from pytest_ctxguard.engine.models.files import write_manifest

TINY = ModelConfig(
    layers=2,
    hidden=32,
    heads=2,
    kv_heads=1,
    head_dim=16,
    ffn=64,
    vocab=151_936,
    window=8192,
    rope_theta=10_000.0,
    eps=1e-6,
)


def tiny_weights(
    config: ModelConfig = TINY, *, seed: int = 0, tied: bool = True
) -> dict[str, Weight]:
    """Draw random weights under GGUF names; without ``tied`` the head is its own, in float32."""
    draw = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1.0) -> Weight:
        return Weight(draw.standard_normal(shape, dtype=np.float32) * np.float32(scale))

    hidden, width = config.hidden, config.kv_heads * config.head_dim
    queries = config.heads * config.head_dim
    rows = {"attn_q": queries, "attn_k": width, "attn_v": width}
    weights = {"token_embd.weight": _q8(normal(config.vocab, hidden))}
    for layer in range(config.layers):
        block = f"blk.{layer}"
        for name, count in rows.items():
            weights[f"{block}.{name}.weight"] = normal(count, hidden, scale=hidden**-0.5)
            if config.biased:
                weights[f"{block}.{name}.bias"] = normal(count, scale=0.1)
        weights[f"{block}.attn_output.weight"] = normal(hidden, queries, scale=queries**-0.5)
        weights[f"{block}.ffn_gate.weight"] = normal(config.ffn, hidden, scale=hidden**-0.5)
        weights[f"{block}.ffn_up.weight"] = normal(config.ffn, hidden, scale=hidden**-0.5)
        weights[f"{block}.ffn_down.weight"] = normal(hidden, config.ffn, scale=config.ffn**-0.5)
        for name in ("attn_norm", "ffn_norm"):
            weights[f"{block}.{name}.weight"] = Weight(1 + normal(hidden, scale=0.1).data)
    weights["output_norm.weight"] = Weight(1 + normal(hidden, scale=0.1).data)
    if not tied:
        weights["token_embd.weight"] = normal(config.vocab, hidden)
        weights["output.weight"] = normal(config.vocab, hidden)
    return weights


def sample_ids(config: ModelConfig = TINY) -> list[list[int]]:
    """Draw the tokens that show which channels are large."""
    draw = np.random.default_rng(1)
    return [draw.integers(0, config.vocab, length).tolist() for length in (40, 23)]


def _q8(weight: Weight) -> Weight:
    return Weight(quantize(weight.data, GGMLQuantizationType.Q8_0), "Q8_0")


def export_tiny(
    folder: Path, *, seed: int = 0, config: ModelConfig = TINY, tied: bool = True
) -> Path:
    """Export a tiny model into ``folder`` for ``store.resolve(str(folder))``; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = tiny_weights(config, seed=seed, tied=tied)
    export(config, weights, folder=folder, sequences=sample_ids(config))
    write_manifest(folder, config, name=f"tiny-{seed}", licence="MIT", source_sha256=f"{seed:064x}")
    return folder
