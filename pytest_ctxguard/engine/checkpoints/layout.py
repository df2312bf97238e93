"""What a whole model holds: its tensors by their GGUF names, their shapes, the types readable.

Both file formats are checked against it, so that nothing that would change the answers is left
out in silence: a tensor too many is refused like one too few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles


class Kind(NamedTuple):
    """A tensor type: its number in GGUF files, and how many values make how many bytes."""

    id: int
    block: int
    size: int


KINDS = {
    "F32": Kind(0, 1, 4),
    "F16": Kind(1, 1, 2),
    "BF16": Kind(30, 1, 2),
    "Q4_0": Kind(2, 32, 18),
    "Q4_1": Kind(3, 32, 20),
    "Q5_0": Kind(6, 32, 22),
    "Q5_1": Kind(7, 32, 24),
    "Q8_0": Kind(8, 32, 34),
    "Q4_K": Kind(12, 256, 144),
    "Q5_K": Kind(13, 256, 176),
    "Q6_K": Kind(14, 256, 210),
}
"""The types this package reads; numbers and sizes as in ggml.h of the GGUF format."""

EMBEDDING, HEAD = "token_embd.weight", "output.weight"
REMEDY = "Fetch the model again, or convert it again from its original."


@dataclass(frozen=True, slots=True)
class ModelParts:
    """What a model's files say: configuration, tensors by their GGUF names, and tokenizer."""

    config: ModelConfig
    weights: Mapping[str, Weight]
    tokenizer: TokenizerFiles


def tensor_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Return GGUF name -> shape of every tensor; the head, which may be tied, comes last."""
    hidden, ffn = config.hidden, config.ffn
    wide, narrow = config.heads * config.head_dim, config.kv_heads * config.head_dim
    block: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (hidden,),
        "attn_q.weight": (wide, hidden),
        "attn_k.weight": (narrow, hidden),
        "attn_v.weight": (narrow, hidden),
        "attn_output.weight": (hidden, wide),
        "ffn_norm.weight": (hidden,),
        "ffn_gate.weight": (ffn, hidden),
        "ffn_up.weight": (ffn, hidden),
        "ffn_down.weight": (hidden, ffn),
    }
    if config.biased:
        block |= {"attn_q.bias": (wide,), "attn_k.bias": (narrow,), "attn_v.bias": (narrow,)}
    return {
        EMBEDDING: (config.vocab, hidden),
        **{f"blk.{n}.{name}": shape for n in range(config.layers) for name, shape in block.items()},
        "output_norm.weight": (hidden,),
        HEAD: (config.vocab, hidden),
    }


def weight_shape(weight: Weight) -> tuple[int, ...]:
    """Return the shape of a weight's values, which its raw bytes do not show."""
    if weight.kind == "F32":
        return tuple(weight.data.shape)
    kind = KINDS[weight.kind]
    *rows, length = weight.data.shape
    return (*rows, length * weight.data.itemsize // kind.size * kind.block)


def check_config(path: Path, config: ModelConfig) -> None:
    """Refuse numbers that cannot shape a decoder."""
    positive = {name: value for name, value in config.as_dict().items() if name != "architecture"}
    wrong = [
        f"{name} is {value}"
        for name, value in positive.items()
        if isinstance(value, str) or not value > 0
    ]
    if not wrong and config.heads % config.kv_heads:
        wrong.append(f"{config.heads} heads are no multiple of {config.kv_heads} key-value heads")
    if not wrong and config.head_dim % 2:
        wrong.append(f"a head is {config.head_dim} wide, which rotary positions cannot halve")
    if wrong:
        raise ModelCorrupt(f"{path}: {'; '.join(wrong)}. {REMEDY}")


def check_weights(
    path: Path, config: ModelConfig, weights: Mapping[str, Weight], *, tied: bool | None = None
) -> None:
    """Check that exactly the tensors of the configuration are there, each with its shape.

    ``tied`` says whether the head is the embedding; None means whichever the file shows.

    Raises:
        ModelCorrupt: a tensor is missing, or has another shape.
        ModelError: a tensor is there that this engine would not use.
    """
    wanted = tensor_shapes(config)
    if tied or (tied is None and HEAD not in weights):
        del wanted[HEAD]
    missing = [name for name in wanted if name not in weights]
    if missing:
        raise ModelCorrupt(
            f"{path}: the tensor {missing[0]} is missing ({len(missing)} in all). {REMEDY}"
        )
    extra = sorted(weights.keys() - wanted.keys())
    if extra:
        raise ModelError(
            f"{path}: the tensor {extra[0]} ({len(extra)} such in all) is no part of a "
            f"{config.architecture} decoder as this engine runs it; leaving it out would change "
            "the answers. Use a model of the plain architecture."
        )
    for name, shape in wanted.items():
        found = weight_shape(weights[name])
        if found != shape:
            raise ModelCorrupt(
                f"{path}: the tensor {name} has shape {list(found)}; the configuration asks for "
                f"{list(shape)}. {REMEDY}"
            )


def check_kind(path: Path, tensor: str, kind: str) -> None:
    """Refuse a tensor whose type this package does not read."""
    if kind not in KINDS:
        raise ModelError(
            f"{path}: the tensor {tensor} has type {kind}; this engine reads "
            f"{', '.join(KINDS)}. Use a file quantised to one of these, such as Q8_0 or Q4_K_M."
        )
