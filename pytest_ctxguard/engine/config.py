"""The numbers that shape a decoder, read from a model file and written beside a converted one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A Qwen2 decoder.

    Attributes:
        layers: transformer blocks.
        hidden: width of the residual stream.
        heads: query heads.
        kv_heads: key and value heads; ``heads`` is a multiple of it.
        head_dim: width of one head.
        ffn: width of the feed-forward layer.
        vocab: rows of the embedding.
        window: context window, in tokens.
        rope_theta: base of the rotary frequencies.
        eps: epsilon of the RMS norms.
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

    def as_dict(self) -> dict[str, int | float]:
        """Return the JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelConfig:
        """Read the JSON form; raises KeyError for a missing number."""
        return cls(**{field.name: data[field.name] for field in fields(cls)})
