"""Write a decoder as an ONNX graph for ONNX Runtime's CPU kernels.

Inputs: ``input_ids`` int64 [B, S]; ``seqlens_k`` int32 [B] (rows in each cache after this call,
minus one); ``total_sequence_length`` int32 scalar (the most rows of any, not minus one);
``first_row`` int64 [1] (logits are computed for rows first_row..S-1 only; S skips the head);
``past.{layer}.key|value`` float32 [B, kv_heads, capacity, head_dim].
Outputs: ``logits`` float32 [B, S - first_row, vocab] and ``present.{layer}.key|value``, to be bound
to the memory of the pasts, so that attention appends its rows in place.

Products are integer: 8-bit rows of weights (``rows.py``) with activations rounded to 8 bits, one
scale a token. Where that is too coarse, the rounding error is rounded again, as a second part
(``parts=2``): everywhere but before gate and up, which are most of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.weights import LOSSLESS, Floats, Weight, pack
from pytest_ctxguard.engine.export.calibrate import Calibration, LayerRanges, rotary
from pytest_ctxguard.engine.export.rows import balance, split_channels
from pytest_ctxguard.engine.export.writer import MICROSOFT, GraphWriter, signature
from pytest_ctxguard.errors import ModelError

HEAD_STEP = 16  # what GroupQueryAttention's kernel asks of a head's width
EXTRA = 64  # columns that split the largest channels; the kernels work in blocks of 64


def export(
    config: ModelConfig,
    weights: Mapping[str, Weight],
    *,
    folder: Path,
    sequences: Sequence[Sequence[int]],
    unsigned: bool = False,
    progress: Callable[[int], None] = lambda layers: None,
) -> None:
    """Write ``model.onnx`` and ``model.onnx.data`` into an existing folder.

    Args:
        config: the model's shape.
        weights: its tensors by GGUF names; without ``output.weight`` the head is the embedding.
        folder: where the two files go.
        sequences: token ids that show which channels are large.
        unsigned: store weights as uint8 around 128, for processors whose int8 products saturate.
        progress: told the number of layers written.

    Raises:
        ModelError: the runtime has no attention for heads of this width.
    """
    if config.head_dim % HEAD_STEP:
        raise ModelError(
            f"a head of this model has {config.head_dim} channels; ONNX Runtime's attention wants "
            f"a multiple of {HEAD_STEP}. Choose another model, or an ONNX export of this one."
        )
    writer = GraphWriter(folder, eps=config.eps, unsigned=unsigned)
    cos, sin = rotary(config, rows=config.window)
    writer.constant("rope.cos", cos)
    writer.constant("rope.sin", sin)
    table = weights["token_embd.weight"]
    calibration = Calibration(config, [_rows_of(table, ids) for ids in sequences])
    hidden, delta = _embedding(writer, table), ""
    for layer in range(config.layers):
        block = f"blk.{layer}."
        tensors = {
            name.removeprefix(block): weight.floats()
            for name, weight in weights.items()
            if name.startswith(block)
        }
        ranges = calibration.layer(tensors)
        build = _Layer(writer, config, tensors=tensors, ranges=ranges, layer=layer)
        attended, hidden = build.attention(hidden, delta)
        if layer == config.layers - 1:
            attended, hidden = _wanted_rows(writer, attended, hidden)
        hidden, delta = build.feed_forward(attended, hidden)
        progress(layer + 1)
    _head(writer, config, weights=weights, calibration=calibration, hidden=hidden, delta=delta)
    inputs, outputs = signature(config)
    writer.close(inputs=inputs, outputs=outputs)


class _Layer:
    """Writes one transformer block."""

    def __init__(
        self,
        writer: GraphWriter,
        config: ModelConfig,
        *,
        tensors: Mapping[str, Floats],
        ranges: LayerRanges,
        layer: int,
    ) -> None:
        self._writer, self._config, self._tensors = writer, config, tensors
        self._ranges, self._layer, self._name = ranges, layer, f"blk.{layer}"

    def attention(self, hidden: str, delta: str) -> tuple[str, str]:
        """Attend; return the mixed values and the residual stream with ``delta`` added."""
        writer, name, config = self._writer, f"{self._name}.attn", self._config
        split = split_channels(self._ranges.attention, extra=EXTRA)
        gamma = self._tensors["attn_norm.weight"] * split.share
        normed, hidden = writer.add_norm(f"{name}_norm", hidden, delta=delta, gamma=gamma)
        matrix = np.concatenate([self._tensors[f"attn_{part}.weight"] for part in "qkv"])
        x = writer.rounded(f"{name}.in", normed, split=split, parts=2)
        y = writer.scaled(f"{name}_qkv", writer.product(f"{name}_qkv", x, matrix=matrix), x.scale)
        if config.biased:
            bias = np.concatenate([self._tensors[f"attn_{part}.bias"] for part in "qkv"])
            y = writer.node("Add", [y, writer.constant(f"{name}.bias", bias)], [f"{name}.biased"])
        past = [f"past.{self._layer}.key", f"past.{self._layer}.value"]
        present = [f"present.{self._layer}.key", f"present.{self._layer}.value"]
        lengths = ["seqlens_k", "total_sequence_length"]
        attended = writer.node(
            "GroupQueryAttention",
            [y, "", "", *past, *lengths, "rope.cos", "rope.sin"],
            [f"{self._name}.attended", *present],
            domain=MICROSOFT,
            num_heads=config.heads,
            kv_num_heads=config.kv_heads,
            do_rotary=1,
            rotary_interleaved=0,
            scale=config.head_dim**-0.5,
        )
        return attended, hidden

    def feed_forward(self, attended: str, hidden: str) -> tuple[str, str]:
        """Project what was attended, then feed forward; return residual stream and delta."""
        writer, name, tensors = self._writer, self._name, self._tensors
        x = writer.rounded(f"{name}.attended.in", attended, parts=2)
        out = writer.product(f"{name}.attn_output", x, matrix=tensors["attn_output.weight"])
        delta = writer.scaled(f"{name}.attn_output", out, x.scale)
        split = split_channels(self._ranges.feed_forward, extra=EXTRA)
        gamma = tensors["ffn_norm.weight"] * split.share
        normed, hidden = writer.add_norm(f"{name}.ffn_norm", hidden, delta=delta, gamma=gamma)
        x = writer.rounded(f"{name}.ffn.in", normed, split=split)
        gate = writer.product(f"{name}.ffn_gate", x, matrix=tensors["ffn_gate.weight"])
        gate = writer.scaled(f"{name}.ffn_gate", gate, x.scale)
        # QuickGelu with alpha 1 is SiLU in one pass
        silu = writer.node("QuickGelu", [gate], [f"{name}.silu"], domain=MICROSOFT, alpha=1.0)
        # The scale of `up` waits for the end, which saves a pass over [S, ffn]
        factors = balance(tensors["ffn_down.weight"], self._ranges.down)
        matrix = tensors["ffn_up.weight"] * factors[:, None]
        up = writer.product(f"{name}.ffn_up", x, matrix=matrix)
        gated = writer.node("Mul", [silu, up], [f"{name}.gated"])
        y = writer.rounded(f"{name}.gated.in", gated, parts=2)
        out = writer.product(f"{name}.ffn_down", y, matrix=tensors["ffn_down.weight"] / factors)
        both = writer.node("Mul", [x.scale, y.scale], [f"{name}.ffn_down.scale"])
        return hidden, writer.scaled(f"{name}.ffn_down", out, both)


def _head(
    writer: GraphWriter,
    config: ModelConfig,
    *,
    weights: Mapping[str, Weight],
    calibration: Calibration,
    hidden: str,
    delta: str,
) -> None:
    norm = weights["output_norm.weight"].floats()
    matrix = weights.get("output.weight", weights["token_embd.weight"]).floats()
    largest, energy = calibration.final(norm)
    factors = balance(matrix, energy)
    split = split_channels(largest * factors, extra=EXTRA)
    gamma = norm * factors * split.share
    normed, _ = writer.add_norm("output_norm", hidden, delta=delta, gamma=gamma)
    x = writer.rounded("output.in", normed, split=split, parts=2)
    logits = writer.product("output", x, matrix=matrix / factors)
    logits = writer.scaled("output", logits, x.scale)
    writer.node("Identity", [logits], ["logits"])


def _rows_of(table: Weight, ids: Sequence[int]) -> Floats:
    return Weight(table.data[list(ids)], table.kind).floats()


def _embedding(writer: GraphWriter, weight: Weight) -> str:
    """Look rows up: in 8 bits where that loses nothing, else in float16."""
    if weight.kind not in LOSSLESS:
        table = writer.constant("embedding", weight.floats().astype(np.float16))
        rows = writer.node("Gather", [table, "input_ids"], ["embedded.half"], axis=0)
        return writer.node("Cast", [rows], ["embedded"], to=1)
    packed = pack(weight)
    levels = packed.levels.reshape(len(packed.levels), -1)
    inputs = [writer.constant("embedding.levels", levels), "input_ids"]
    inputs.append(writer.constant("embedding.scales", packed.scales))
    return writer.node(
        "GatherBlockQuantized",
        inputs,
        ["embedded"],
        domain=MICROSOFT,
        gather_axis=0,
        quantize_axis=1,
        block_size=packed.block,
        bits=8,
    )


def _wanted_rows(writer: GraphWriter, attended: str, hidden: str) -> tuple[str, str]:
    """Keep rows first_row..S-1: the last layer's keys and values are written, the rest is waste."""
    end = writer.constant("row.end", np.array([np.iinfo(np.int64).max]))
    axis = writer.constant("row.axis", np.array([1]))
    wanted = [
        writer.node("Slice", [name, "first_row", end, axis], [f"{name}.wanted"])
        for name in (attended, hidden)
    ]
    writer.fewer_rows()
    return wanted[0], wanted[1]
