"""Write a Qwen2 decoder as an ONNX graph for ONNX Runtime's CPU kernels.

Inputs: ``input_ids`` int64 [1, S]; ``seqlens_k`` int32 [1] (rows in the cache after this call,
minus one); ``total_sequence_length`` int32 scalar (the same rows, not minus one); ``first_row``
int64 [1] (logits are computed for rows first_row..S-1 only; S skips the head);
``past.{layer}.key|value`` float32 [1, kv_heads, capacity, head_dim].
Outputs: ``logits`` float32 [1, S - first_row, vocab] and ``present.{layer}.key|value``, to be bound
to the memory of the pasts, so that attention appends its rows in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.config import ModelConfig
from pytest_ctxguard.engine.files import DATA_FILE, GRAPH_FILE
from pytest_ctxguard.engine.quantize import LOSSLESS, Packed, Weight, pack

MICROSOFT = "com.microsoft"
ALIGNMENT = 4096  # lets the runtime map each tensor from the file
ACCURACY_INT8 = 4  # activations in 8-bit blocks; the f32 kernels unpack all weights at each call


class GraphWriter:
    """Collects nodes, and streams their constants into the data file beside the graph."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._data = (folder / DATA_FILE).open("wb")

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Append an array to the data file and declare it; return its name."""
        from onnx import TensorProto, helper

        self._data.write(b"\0" * (-self._data.tell() % ALIGNMENT))
        tensor = TensorProto(name=name, dims=array.shape, data_location=TensorProto.EXTERNAL)
        tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        place = {"location": DATA_FILE, "offset": self._data.tell(), "length": array.nbytes}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self._data.write(np.ascontiguousarray(array).data)
        self._constants.append(tensor)
        return name

    def node(
        self,
        op: str,
        inputs: list[str],
        outputs: list[str],
        *,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Append a node; return the name of its first output."""
        from onnx import helper

        self._nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def matmul(self, name: str, x: str, *, packed: Packed, bias: str = "") -> str:
        """Multiply by a packed matrix, x @ W.T + bias."""
        rows, blocks, block = packed.levels.shape
        inputs = [x, self.constant(f"{name}.levels", packed.levels)]
        inputs.append(self.constant(f"{name}.scales", packed.scales))
        zeros = packed.zeros
        inputs.append("" if zeros is None else self.constant(f"{name}.zeros", zeros))
        if bias:
            inputs += ["", bias]
        return self.node(
            "MatMulNBits",
            inputs,
            [f"{name}.out"],
            domain=MICROSOFT,
            K=blocks * block,
            N=rows,
            bits=8,
            block_size=block,
            accuracy_level=ACCURACY_INT8,
        )

    def close(self, *, inputs: list[Any], outputs: list[Any]) -> None:
        """Write the graph file; the folder is then complete."""
        from onnx import helper

        self._data.close()
        graph = helper.make_graph(self._nodes, "decoder", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        (self._folder / GRAPH_FILE).write_bytes(model.SerializeToString())


def export(
    config: ModelConfig,
    weights: Mapping[str, Weight],
    *,
    folder: Path,
    progress: Callable[[int], None] = lambda layers: None,
) -> None:
    """Write ``model.onnx`` and ``model.onnx.data`` into an existing folder.

    ``weights`` has GGUF names; without ``output.weight`` the head is tied to the embedding.
    ``progress`` is told the number of layers written.
    """
    writer = GraphWriter(folder)
    cos, sin = _rotary(config)
    writer.constant("rope.cos", cos)
    writer.constant("rope.sin", sin)
    hidden = _embedding(writer, weights["token_embd.weight"])
    norm = writer.node(
        "SimplifiedLayerNormalization",
        [hidden, _norm(writer, weights, "blk.0.attn_norm")],
        ["normed"],
        axis=-1,
        epsilon=config.eps,
        stash_type=1,
    )
    for layer in range(config.layers):
        attended = _attention(writer, config, weights=weights, layer=layer, x=norm)
        if layer == config.layers - 1:
            attended, hidden = _wanted_rows(writer, attended, hidden)
        name = f"blk.{layer}"
        delta = writer.matmul(
            f"{name}.attn_output", attended, packed=pack(weights[f"{name}.attn_output.weight"])
        )
        norm, hidden = _add_norm(
            writer, delta, hidden, gamma=_norm(writer, weights, f"{name}.ffn_norm"), eps=config.eps
        )
        delta = _feed_forward(writer, weights, name=name, x=norm)
        last = layer == config.layers - 1
        after = "output_norm" if last else f"blk.{layer + 1}.attn_norm"
        norm, hidden = _add_norm(
            writer, delta, hidden, gamma=_norm(writer, weights, after), eps=config.eps
        )
        progress(layer + 1)
    head = weights.get("output.weight", weights["token_embd.weight"])
    logits = writer.matmul("output", norm, packed=pack(head))
    writer.node("Identity", [logits], ["logits"])
    inputs, outputs = _signature(config)
    writer.close(inputs=inputs, outputs=outputs)


def _rotary(config: ModelConfig) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Tabulate cos and sin, shape [window, head_dim / 2], in float32 as the reference does."""
    steps = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    frequencies = np.float32(1) / np.float32(config.rope_theta) ** steps
    angles = np.arange(config.window, dtype=np.float32)[:, None] * frequencies[None, :]
    return np.cos(angles), np.sin(angles)


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


def _norm(writer: GraphWriter, weights: Mapping[str, Weight], name: str) -> str:
    return writer.constant(name, weights[f"{name}.weight"].floats())


def _add_norm(
    writer: GraphWriter, delta: str, hidden: str, *, gamma: str, eps: float
) -> tuple[str, str]:
    """Add ``delta`` to the residual stream and normalise; return both."""
    outputs = [f"{gamma}.normed", "", "", f"{gamma}.sum"]
    writer.node(
        "SkipSimplifiedLayerNormalization",
        [hidden, delta, gamma],
        outputs,
        domain=MICROSOFT,
        epsilon=eps,
    )
    return outputs[0], outputs[3]


def _attention(
    writer: GraphWriter,
    config: ModelConfig,
    *,
    weights: Mapping[str, Weight],
    layer: int,
    x: str,
) -> str:
    parts = []
    for part in ("attn_q", "attn_k", "attn_v"):
        name = f"blk.{layer}.{part}"
        bias = writer.constant(f"{name}.bias", weights[f"{name}.bias"].floats())
        packed = pack(weights[f"{name}.weight"])
        parts.append(writer.matmul(name, x, packed=packed, bias=bias))
    past = [f"past.{layer}.key", f"past.{layer}.value"]
    present = [f"present.{layer}.key", f"present.{layer}.value"]
    lengths = ["seqlens_k", "total_sequence_length"]
    return writer.node(
        "GroupQueryAttention",
        [*parts, *past, *lengths, "rope.cos", "rope.sin"],
        [f"blk.{layer}.attended", *present],
        domain=MICROSOFT,
        num_heads=config.heads,
        kv_num_heads=config.kv_heads,
        do_rotary=1,
        rotary_interleaved=0,
        scale=config.head_dim**-0.5,
    )


def _wanted_rows(writer: GraphWriter, attended: str, hidden: str) -> tuple[str, str]:
    """Keep rows first_row..S-1: the last layer's keys and values are written, the rest is waste."""
    end = writer.constant("row.end", np.array([np.iinfo(np.int64).max]))
    axis = writer.constant("row.axis", np.array([1]))
    wanted = [
        writer.node("Slice", [name, "first_row", end, axis], [f"{name}.wanted"])
        for name in (attended, hidden)
    ]
    return wanted[0], wanted[1]


def _feed_forward(writer: GraphWriter, weights: Mapping[str, Weight], *, name: str, x: str) -> str:
    gate = writer.matmul(f"{name}.ffn_gate", x, packed=pack(weights[f"{name}.ffn_gate.weight"]))
    up = writer.matmul(f"{name}.ffn_up", x, packed=pack(weights[f"{name}.ffn_up.weight"]))
    # QuickGelu with alpha 1 is SiLU in one pass
    silu = writer.node("QuickGelu", [gate], [f"{name}.silu"], domain=MICROSOFT, alpha=1.0)
    product = writer.node("Mul", [silu, up], [f"{name}.gated"])
    down = pack(weights[f"{name}.ffn_down.weight"])
    return writer.matmul(f"{name}.ffn_down", product, packed=down)


def _signature(config: ModelConfig) -> tuple[list[Any], list[Any]]:
    from onnx import TensorProto, helper

    def info(name: str, kind: int, shape: list[int | str]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [
        info("input_ids", TensorProto.INT64, [1, "tokens"]),
        info("seqlens_k", TensorProto.INT32, [1]),
        info("total_sequence_length", TensorProto.INT32, []),
        info("first_row", TensorProto.INT64, [1]),
    ]
    outputs = [info("logits", TensorProto.FLOAT, [1, "rows", config.vocab])]
    cache: list[int | str] = [1, config.kv_heads, "capacity", config.head_dim]
    for layer in range(config.layers):
        for part in ("key", "value"):
            inputs.append(info(f"past.{layer}.{part}", TensorProto.FLOAT, cache))
            outputs.append(info(f"present.{layer}.{part}", TensorProto.FLOAT, cache))
    return inputs, outputs
