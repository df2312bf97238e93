"""Qwen2 and Llama in float64 numpy, from the papers: what the exported graph is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import ModelConfig

Array = NDArray[np.float64]


def logits(config: ModelConfig, weights: Mapping[str, Array], ids: Sequence[int]) -> Array:
    """Return the logits after every token, shape [tokens, vocab]."""
    x = weights["token_embd.weight"][list(ids)]
    for layer in range(config.layers):
        w = {
            name.removeprefix(f"blk.{layer}."): value
            for name, value in weights.items()
            if name.startswith(f"blk.{layer}.")
        }
        x = x + _attention(config, w, _norm(x, w["attn_norm.weight"], config.eps))
        y = _norm(x, w["ffn_norm.weight"], config.eps)
        gate = y @ w["ffn_gate.weight"].T
        gated = gate / (1 + np.exp(-gate)) * (y @ w["ffn_up.weight"].T)
        x = x + gated @ w["ffn_down.weight"].T
    x = _norm(x, weights["output_norm.weight"], config.eps)
    return x @ weights.get("output.weight", weights["token_embd.weight"]).T


def _norm(x: Array, gamma: Array, eps: float) -> Array:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * gamma


def _heads(x: Array, w: Mapping[str, Array], name: str, size: int) -> Array:
    y = x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)  # Llama has none
    return y.reshape(len(x), -1, size).transpose(1, 0, 2)


def _rotate(x: Array, theta: float) -> Array:
    size = x.shape[-1]
    frequency = theta ** (-np.arange(0, size, 2) / size)
    angle = np.arange(x.shape[1])[:, None] * frequency
    first, second = x[..., : size // 2], x[..., size // 2 :]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _attention(config: ModelConfig, w: Mapping[str, Array], x: Array) -> Array:
    q = _rotate(_heads(x, w, "attn_q", config.head_dim), config.rope_theta)
    k = _rotate(_heads(x, w, "attn_k", config.head_dim), config.rope_theta)
    v = _heads(x, w, "attn_v", config.head_dim)
    group = config.heads // config.kv_heads
    k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(config.head_dim)
    scores[:, np.triu(np.ones((len(x), len(x)), bool), k=1)] = -np.inf
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
    return mixed.transpose(1, 0, 2).reshape(len(x), -1) @ w["attn_output.weight"].T
