"""Tiny random graphs with Optimum's inputs and outputs, written with onnx's helper.

Plain operators only, so that each variant (types of the pasts, the logits and the ids, optional
inputs) differs from the next in its signature and not in what it computes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from tests.engine.tiny import TINY, tiny_weights

SMALL = replace(TINY, vocab=320, heads=4, kv_heads=2, head_dim=8, window=640)
TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
}


@dataclass(frozen=True)
class Variant:
    """What one exporter writes and another does not."""

    pasts: str = "float32"
    logits: str = "float32"
    ids: str = "int64"
    positions: bool = True
    keep: bool = False
    external: bool = False
    nested: bool = False

    @property
    def graph(self) -> Path:
        return Path("onnx" if self.nested else ".") / "model.onnx"


def small_weights(config: ModelConfig = SMALL) -> dict[str, NDArray[np.float32]]:
    return {name: weight.floats() for name, weight in tiny_weights(config).items()}


def write_folder(
    folder: Path,
    variant: Variant | None = None,
    *,
    config: ModelConfig = SMALL,
    edit: Callable[[onnx.ModelProto], object] = lambda model: None,
) -> Path:
    """Write graph, config.json and generation_config.json as the hub lays them out."""
    variant = variant or Variant()
    model = _Graph(config, small_weights(config), variant).model()
    edit(model)
    path = folder / variant.graph
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(
        model,
        path,
        save_as_external_data=variant.external,
        location="model.onnx_data",
        size_threshold=256,
    )
    (folder / "config.json").write_text(json.dumps(hub_config(config)), encoding="utf-8")
    generation = {"eos_token_id": [7, 8], "transformers_version": "4.57.6"}
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
    return folder


def hub_config(config: ModelConfig = SMALL) -> dict[str, Any]:
    return {
        "model_type": "qwen2",
        "eos_token_id": 9,
        "hidden_size": config.hidden,
        "intermediate_size": config.ffn,
        "max_position_embeddings": config.window,
        "num_attention_heads": config.heads,
        "num_hidden_layers": config.layers,
        "num_key_value_heads": config.kv_heads,
        "rms_norm_eps": config.eps,
        "rope_theta": config.rope_theta,
        "vocab_size": config.vocab,
    }


class _Graph:
    """Writes the nodes of one decoder, in float32 inside."""

    def __init__(
        self, config: ModelConfig, weights: Mapping[str, NDArray[np.float32]], variant: Variant
    ) -> None:
        self._config, self._weights, self._variant = config, weights, variant
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> onnx.ModelProto:
        self._prepare()
        hidden = self._op("Gather", self._weight("token_embd.weight"), "input_ids", axis=0)
        for layer in range(self._config.layers):
            normed = self._norm(hidden, f"blk.{layer}.attn_norm")
            hidden = self._op("Add", hidden, self._attention(layer, normed))
            normed = self._norm(hidden, f"blk.{layer}.ffn_norm")
            hidden = self._op("Add", hidden, self._feed_forward(layer, normed))
        hidden = self._norm(hidden, "output_norm")
        if self._variant.keep:
            hidden = self._last_rows(hidden)
        logits = self._linear(hidden, "token_embd")
        self._op("Cast", logits, to=TYPES[self._variant.logits], output="logits")
        inputs, outputs = self._signature()
        graph = helper.make_graph(self._nodes, "decoder", inputs, outputs, self._constants)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)

    def _prepare(self) -> None:
        """Positions, their angles, and what attention may look at, shape [1, 1, 1, S, T]."""
        past = self._op("Gather", self._op("Shape", "past_key_values.0.key"), self._ints(2))
        count = self._op("Gather", self._op("Shape", "input_ids"), self._ints(1))
        total = self._op("Add", past, count)
        rows = self._op("Range", past, total, self._ints(1))
        columns = self._op("Range", self._ints(0), total, self._ints(1))
        earlier = self._op("LessOrEqual", columns, self._op("Unsqueeze", rows, self._ints([1])))
        given = self._op("Cast", "attention_mask", to=TensorProto.BOOL)
        self._visible = self._op("And", earlier, given)  # [S, T] and [1, T]
        size, theta = self._config.head_dim, self._config.rope_theta
        frequencies = theta ** (-np.arange(0, size, 2) / size)
        positions = "position_ids" if self._variant.positions else rows
        column = self._op("Reshape", positions, self._ints([-1, 1]))
        floats = self._op("Cast", column, to=TensorProto.FLOAT)
        angles = self._op("Mul", floats, self._constant(frequencies[None].astype(np.float32)))
        self._cos, self._sin = self._op("Cos", angles), self._op("Sin", angles)

    def _attention(self, layer: int, x: str) -> str:
        config, block = self._config, f"blk.{layer}"
        groups = config.heads // config.kv_heads
        q = self._rotate(self._heads(x, f"{block}.attn_q", config.heads))
        k = self._rotate(self._heads(x, f"{block}.attn_k", config.kv_heads))
        v = self._heads(x, f"{block}.attn_v", config.kv_heads)
        k, v = self._append(layer, "key", k), self._append(layer, "value", v)
        shape = [1, config.kv_heads, groups, -1, config.head_dim]
        q = self._op("Reshape", q, self._ints(shape))
        scores = self._op("MatMul", q, self._op("Transpose", k, perm=[0, 1, 2, 4, 3]))
        scale = self._constant(np.float32(config.head_dim**-0.5))
        scores = self._op("Mul", scores, scale)
        lowest = self._constant(np.float32(-1e30))
        scores = self._op("Where", self._visible, scores, lowest)
        mixed = self._op("MatMul", self._op("Softmax", scores, axis=-1), v)
        shape = [1, config.heads, -1, config.head_dim]
        mixed = self._op("Reshape", mixed, self._ints(shape))
        mixed = self._op("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = self._op("Reshape", mixed, self._ints([1, -1, config.heads * config.head_dim]))
        return self._linear(mixed, f"{block}.attn_output")

    def _append(self, layer: int, part: str, new: str) -> str:
        """Write the present in its type; return it in float32 with an axis for the groups."""
        new = self._op("Cast", new, to=TYPES[self._variant.pasts])
        past, present = f"past_key_values.{layer}.{part}", f"present.{layer}.{part}"
        self._op("Concat", past, new, axis=2, output=present)
        floats = self._op("Cast", present, to=TensorProto.FLOAT)
        return self._op("Unsqueeze", floats, self._ints([2]))

    def _heads(self, x: str, name: str, heads: int) -> str:
        y = self._op("Add", self._linear(x, name), self._weight(f"{name}.bias"))
        y = self._op("Reshape", y, self._ints([1, -1, heads, self._config.head_dim]))
        return self._op("Transpose", y, perm=[0, 2, 1, 3])

    def _rotate(self, x: str) -> str:
        first, second = f"{x}.first", f"{x}.second"
        self._nodes.append(helper.make_node("Split", [x], [first, second], axis=-1))
        cos, sin = self._cos, self._sin
        left = self._op("Sub", self._op("Mul", first, cos), self._op("Mul", second, sin))
        right = self._op("Add", self._op("Mul", second, cos), self._op("Mul", first, sin))
        return self._op("Concat", left, right, axis=-1)

    def _feed_forward(self, layer: int, x: str) -> str:
        gate = self._linear(x, f"blk.{layer}.ffn_gate")
        gate = self._op("Mul", gate, self._op("Sigmoid", gate))
        product = self._op("Mul", gate, self._linear(x, f"blk.{layer}.ffn_up"))
        return self._linear(product, f"blk.{layer}.ffn_down")

    def _last_rows(self, hidden: str) -> str:
        """Keep the last ``num_logits_to_keep`` rows; 0 keeps all, as a slice from -0 does."""
        start = self._op("Neg", self._op("Reshape", "num_logits_to_keep", self._ints([1])))
        end = self._ints([np.iinfo(np.int64).max])
        return self._op("Slice", hidden, start, end, self._ints([1]))

    def _norm(self, x: str, name: str) -> str:
        mean = self._op("ReduceMean", self._op("Mul", x, x), axes=[-1])
        root = self._op("Sqrt", self._op("Add", mean, self._constant(np.float32(self._config.eps))))
        return self._op("Mul", self._op("Div", x, root), self._weight(f"{name}.weight"))

    def _linear(self, x: str, name: str) -> str:
        return self._op("MatMul", x, self._constant(self._weights[f"{name}.weight"].T.copy()))

    def _weight(self, name: str) -> str:
        return self._constant(self._weights[name])

    def _ints(self, values: int | list[int]) -> str:
        return self._constant(np.array(values, np.int64))

    def _constant(self, array: NDArray[Any] | np.generic) -> str:
        name = f"constant.{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def _op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"node.{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def _signature(self) -> tuple[list[Any], list[Any]]:
        def info(name: str, kind: str, shape: list[int | str]) -> Any:
            return helper.make_tensor_value_info(name, TYPES[kind], shape)

        variant, config = self._variant, self._config
        inputs = [
            info("input_ids", variant.ids, ["batch_size", "sequence_length"]),
            info("attention_mask", variant.ids, ["batch_size", "total_length"]),
        ]
        if variant.positions:
            inputs.append(info("position_ids", variant.ids, ["batch_size", "sequence_length"]))
        if variant.keep:
            inputs.append(info("num_logits_to_keep", "int64", []))
        outputs = [info("logits", variant.logits, ["batch_size", "logit_rows", config.vocab])]
        for layer in range(config.layers):
            for part in ("key", "value"):
                shape: list[int | str] = ["batch_size", config.kv_heads, "past", config.head_dim]
                inputs.append(info(f"past_key_values.{layer}.{part}", variant.pasts, shape))
                shape = ["batch_size", config.kv_heads, "total", config.head_dim]
                outputs.append(info(f"present.{layer}.{part}", variant.pasts, shape))
        return inputs, outputs
