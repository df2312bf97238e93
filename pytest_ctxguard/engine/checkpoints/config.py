"""The numbers that shape a decoder, read from a model file and written beside a converted one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

QWEN2, LLAMA = "qwen2", "llama"
ARCHITECTURES = (QWEN2, LLAMA)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A decoder of the Llama family.

    Attributes:
        layers: transformer blocks.
        hidden: width of the residual stream.
        heads: query heads.
        kv_heads: key and value heads; ``heads`` is a multiple of it.
        head_dim: width of one head; ``heads * head_dim`` need not be ``hidden``.
        ffn: width of the feed-forward layer.
        vocab: rows of the embedding.
        window: context window, in tokens.
        rope_theta: base of the rotary frequencies.
        eps: epsilon of the RMS norms.
        architecture: ``qwen2`` (queries, keys and values have biases) or ``llama`` (no biases).
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    window: int
    rope_theta: float
    eps: float
    architecture: str = QWEN2

    @property
    def biased(self) -> bool:
        """Whether queries, keys and values have biases."""
        return self.architecture == QWEN2

    def as_dict(self) -> dict[str, int | float | str]:
        """Return the JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelConfig:
        """Read the JSON form; raises KeyError for a missing number."""
        numbers = {f.name: data[f.name] for f in fields(cls) if f.name != "architecture"}
        return cls(**numbers, architecture=data.get("architecture", QWEN2))
