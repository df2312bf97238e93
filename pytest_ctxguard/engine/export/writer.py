"""Write nodes and their constants: the parts that ``graph.py`` composes a decoder of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.weights import Floats
from pytest_ctxguard.engine.export import DATA_FILE, GRAPH_FILE
from pytest_ctxguard.engine.export.rows import LEVELS, Split, quantize_rows

MICROSOFT = "com.microsoft"
ALIGNMENT = 4096  # lets the runtime map each tensor from the file
SMALL = 1024  # bytes; axes and the like must stand in the graph, where shapes are inferred
WHOLE_ROW: dict[str, Any] = {"axis": -1, "block_size": 1 << 30}  # one scale a row, however long
MIDDLE = 128  # the uint8 level that means zero; uint8 times int8 is what the fast kernels take
FINER = 2 * LEVELS  # the second part of a value rounds what half a level of the first leaves


@dataclass(frozen=True, slots=True)
class Rounded:
    """An input rounded to 8 bits, each token by its own scale.

    Attributes:
        levels: name of the uint8 levels, shape [parts * B, S, columns].
        scale: name of the scales, float32 [B, S, 1]; products still have to be multiplied by them.
        split: the channels its columns carry; None for one column a channel.
        parts: 2 where the rounding error was rounded again.
    """

    levels: str
    scale: str
    split: Split | None
    parts: int


class GraphWriter:
    """Collects nodes, and streams their constants into the data file beside the graph."""

    def __init__(self, folder: Path, *, eps: float, unsigned: bool = False) -> None:
        self._folder, self._eps, self._unsigned = folder, eps, unsigned
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._data = (folder / DATA_FILE).open("wb")
        self._zero = ""
        self._middle = self.constant("middle", np.array(MIDDLE, np.uint8))
        self._one = self.constant("one", np.array(1, np.float32))
        self._level = self.constant("level", np.array(1 / LEVELS, np.float32))
        self._finer = self.constant("finer", np.array(1 / FINER, np.float32))
        self._least = self.constant("least", np.array(1e-30, np.float32))
        self._last = self.constant("last", np.array([-1]))

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Declare an array, kept in the data file unless it is small; return its name."""
        from onnx import TensorProto, helper, numpy_helper

        if array.nbytes <= SMALL:
            self._constants.append(numpy_helper.from_array(array, name))
            return name
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

    def add_norm(self, name: str, hidden: str, *, delta: str, gamma: Floats) -> tuple[str, str]:
        """Add ``delta``, if any, to the residual stream and normalise; return both."""
        weight = self.constant(name, gamma)
        outputs = [f"{name}.normed", "", "", f"{name}.sum"]
        if not delta:
            self.node(
                "SimplifiedLayerNormalization",
                [hidden, weight],
                outputs[:1],
                axis=-1,
                epsilon=self._eps,
                stash_type=1,
            )
            return outputs[0], hidden
        self.node(
            "SkipSimplifiedLayerNormalization",
            [hidden, delta, weight],
            outputs,
            domain=MICROSOFT,
            epsilon=self._eps,
        )
        return outputs[0], outputs[3]

    def fewer_rows(self) -> None:
        """Say that from here on values have another number of rows."""
        self._zero = ""

    def rounded(self, name: str, x: str, *, split: Split | None = None, parts: int = 1) -> Rounded:
        """Round a value [B, S, K]; its split channels must have been multiplied by their share."""
        scale = self._scale(name, x)
        if not self._zero:  # one zero point a token, which the blocked form of rounding wants
            shape = self.node("Shape", [scale], [f"{name}.shape"])
            self._zero = self.node("Expand", [self._middle, shape], [f"{name}.zero"])
        inputs = [x, scale, self._zero]
        levels = self.node("QuantizeLinear", inputs, [f"{name}.levels"], **WHOLE_ROW)
        if parts == 2:
            rest = self._rest(name, x, scale, levels)
            # Side by side, so that the weights are read once; decoding is bound by that
            levels = self.node("Concat", [levels, rest], [f"{name}.both"], axis=0)
        if split is not None and len(split.extra):
            extra = self.constant(f"{name}.extra", split.extra)
            more = self.node("Gather", [levels, extra], [f"{name}.more"], axis=-1)
            levels = self.node("Concat", [levels, more], [f"{name}.wide"], axis=-1)
        return Rounded(levels, scale, split, parts)

    def product(self, name: str, x: Rounded, *, matrix: Floats) -> str:
        """Multiply by a matrix [N, K], up to the scales of ``x``."""
        rows = quantize_rows(matrix, x.split)
        levels: NDArray[Any] = rows.levels
        inputs = [x.levels, f"{name}.levels", self._one, f"{name}.scales", self._middle]
        if self._unsigned:
            levels = (levels.view(np.uint8) ^ MIDDLE).astype(np.uint8)  # adds 128
            zeros = np.full(len(rows.scales), MIDDLE, np.uint8)
            inputs.append(self.constant(f"{name}.zeros", zeros))
        self.constant(f"{name}.levels", levels)
        self.constant(f"{name}.scales", rows.scales)
        out = self.node("MatMulIntegerToFloat", inputs, [f"{name}.raw"], domain=MICROSOFT)
        if x.parts == 1:
            return out
        outputs = [f"{name}.main", f"{name}.rest"]
        self.node("Split", [out], outputs, axis=0, num_outputs=2)
        rest = self.node("Mul", [outputs[1], self._finer], [f"{name}.small"])
        return self.node("Add", [outputs[0], rest], [f"{name}.sum"])

    def scaled(self, name: str, product: str, scale: str) -> str:
        """Multiply a product by the scales of its tokens."""
        return self.node("Mul", [product, scale], [f"{name}.out"])

    def close(self, *, inputs: list[Any], outputs: list[Any]) -> None:
        """Write the graph file; the folder is then complete."""
        from onnx import helper

        self._data.close()
        graph = helper.make_graph(self._nodes, "decoder", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        (self._folder / GRAPH_FILE).write_bytes(model.SerializeToString())

    def _scale(self, name: str, x: str) -> str:
        """Return the size of a level, [B, S, 1], so that the largest value gets the last one."""
        size = self.node("Abs", [x], [f"{name}.size"])
        largest = self.node("ReduceMax", [size, self._last], [f"{name}.largest"], keepdims=1)
        level = self.node("Mul", [largest, self._level], [f"{name}.level"])
        return self.node("Max", [level, self._least], [f"{name}.scale"])

    def _rest(self, name: str, x: str, scale: str, levels: str) -> str:
        """Round what rounding left, in units of a level: at most half of one."""
        exact = self.node("Div", [x, scale], [f"{name}.exact"])
        near = [levels, self._one, self._middle]
        whole = self.node("DequantizeLinear", near, [f"{name}.whole"])
        error = self.node("Sub", [exact, whole], [f"{name}.error"])
        return self.node("QuantizeLinear", [error, self._finer, self._middle], [f"{name}.rest"])


def signature(config: ModelConfig) -> tuple[list[Any], list[Any]]:
    """Return the declarations of the graph's inputs and outputs."""
    from onnx import TensorProto, helper

    def info(name: str, kind: int, shape: list[int | str]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [
        info("input_ids", TensorProto.INT64, ["batch", "tokens"]),
        info("seqlens_k", TensorProto.INT32, ["batch"]),
        info("total_sequence_length", TensorProto.INT32, []),
        info("first_row", TensorProto.INT64, [1]),
    ]
    outputs = [info("logits", TensorProto.FLOAT, ["batch", "rows", config.vocab])]
    cache: list[int | str] = ["batch", config.kv_heads, "capacity", config.head_dim]
    for layer in range(config.layers):
        for part in ("key", "value"):
            inputs.append(info(f"past.{layer}.{part}", TensorProto.FLOAT, cache))
            outputs.append(info(f"present.{layer}.{part}", TensorProto.FLOAT, cache))
    return inputs, outputs
