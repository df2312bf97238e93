"""Run a decoder in float32 over sample tokens, layer by layer, to see how large each channel is.

Plain numpy, a second way to compute what ``graph.py`` writes down; one pass over the weights
serves both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.weights import Floats


@dataclass(frozen=True, slots=True)
class LayerRanges:
    """How large the channels are at the inputs of a layer's products.

    Attributes:
        attention: largest magnitudes at queries, keys and values, shape [hidden].
        feed_forward: largest magnitudes at gate and up, shape [hidden].
        down: mean squares at the product that ends the layer, shape [ffn].
    """

    attention: Floats
    feed_forward: Floats
    down: Floats


class Calibration:
    """The residual stream of some token sequences, one layer further at each call."""

    def __init__(self, config: ModelConfig, embedded: Sequence[Floats]) -> None:
        self._config = config
        self._lengths = [len(sequence) for sequence in embedded]
        self._hidden = np.concatenate(embedded)
        self._cos, self._sin = rotary(config, rows=max(self._lengths))

    def layer(self, tensors: Mapping[str, Floats]) -> LayerRanges:
        """Apply a layer, given its tensors by GGUF name without the ``blk.N.`` in front."""
        normed = self._norm(tensors["attn_norm.weight"])
        mixed = self._attention(normed, tensors)
        self._hidden = self._hidden + mixed @ tensors["attn_output.weight"].T
        fed = self._norm(tensors["ffn_norm.weight"])
        gate = fed @ tensors["ffn_gate.weight"].T
        gated = gate / (1 + np.exp(-gate)) * (fed @ tensors["ffn_up.weight"].T)
        self._hidden = self._hidden + gated @ tensors["ffn_down.weight"].T
        return LayerRanges(
            attention=np.abs(normed).max(axis=0),
            feed_forward=np.abs(fed).max(axis=0),
            down=np.mean(gated * gated, axis=0),
        )

    def final(self, gamma: Floats) -> tuple[Floats, Floats]:
        """Return largest magnitudes and mean squares at the head's input, each [hidden]."""
        normed = self._norm(gamma)
        return np.abs(normed).max(axis=0), np.mean(normed * normed, axis=0)

    def _norm(self, gamma: Floats) -> Floats:
        mean = np.mean(self._hidden * self._hidden, axis=-1, keepdims=True)
        normed: Floats = self._hidden / np.sqrt(mean + np.float32(self._config.eps)) * gamma
        return normed

    def _attention(self, normed: Floats, tensors: Mapping[str, Floats]) -> Floats:
        config = self._config
        parts = []
        for name, heads in (("q", config.heads), ("k", config.kv_heads), ("v", config.kv_heads)):
            part = normed @ tensors[f"attn_{name}.weight"].T
            if config.biased:
                part = part + tensors[f"attn_{name}.bias"]
            parts.append(part.reshape(len(part), heads, config.head_dim).transpose(1, 0, 2))
        out, start = [], 0
        for length in self._lengths:
            q, k, v = (part[:, start : start + length] for part in parts)
            out.append(self._attend(q, k, v))
            start += length
        return np.concatenate(out)

    def _attend(self, q: Floats, k: Floats, v: Floats) -> Floats:
        """Mix the values of one sequence; [heads, tokens, head_dim] in, [tokens, width] out."""
        config, length = self._config, q.shape[1]
        q, k = self._rotate(q), self._rotate(k)
        group = config.heads // config.kv_heads
        k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
        scores = q @ k.transpose(0, 2, 1) * np.float32(config.head_dim**-0.5)
        scores[:, np.triu(np.ones((length, length), bool), k=1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = weights @ v / weights.sum(axis=-1, keepdims=True)
        joined: Floats = mixed.transpose(1, 0, 2).reshape(length, -1)
        return joined

    def _rotate(self, x: Floats) -> Floats:
        half = self._config.head_dim // 2
        cos, sin = self._cos[: x.shape[1]], self._sin[: x.shape[1]]
        first, second = x[..., :half], x[..., half:]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def rotary(config: ModelConfig, *, rows: int) -> tuple[Floats, Floats]:
    """Tabulate cos and sin, shape [rows, head_dim / 2], in float32 as the reference does."""
    steps = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    frequencies = np.float32(1) / np.float32(config.rope_theta) ** steps
    angles = np.arange(rows, dtype=np.float32)[:, None] * frequencies[None, :]
    return np.cos(angles), np.sin(angles)
