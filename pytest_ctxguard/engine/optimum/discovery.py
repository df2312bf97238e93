"""Read from a session which of Optimum's inputs and outputs a graph has, and in which types.

Optimum names a decoder's tensors ``input_ids``, ``attention_mask``, ``position_ids`` and
``past_key_values.{layer}.key|value`` -> ``logits``, ``present.{layer}.key|value``. Types, widths
and which of the optional ones are there differ between exports, so nothing of that is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.errors import ModelError

Dtype: TypeAlias = np.dtype[Any]

PAST = re.compile(r"past_key_values\.(\d+)\.(key|value)")
NEEDED = (
    "needed: input_ids, attention_mask, past_key_values.{layer}.key|value [and position_ids, "
    "num_logits_to_keep] -> logits, present.{layer}.key|value"
)
FLOATS: dict[str, Dtype] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(float16)": np.dtype(np.float16),
}
INTEGERS: dict[str, Dtype] = {
    "tensor(int64)": np.dtype(np.int64),
    "tensor(int32)": np.dtype(np.int32),
}
EXPORT = "Export it with optimum's task text-generation-with-past."


@dataclass(frozen=True, slots=True)
class Past:
    """A tensor of keys or values that goes in and comes out longer.

    Attributes:
        source: name of the input, shape [1, heads, rows before, width].
        target: name of the output, shape [1, heads, rows after, width].
        dtype: of both.
        heads: key and value heads.
        width: of one head.
    """

    source: str
    target: str
    dtype: Dtype
    heads: int
    width: int

    @property
    def row_bytes(self) -> int:
        """Memory of one token."""
        return self.heads * self.width * self.dtype.itemsize

    def empty(self) -> NDArray[Any]:
        """Return the past of a prompt's first call."""
        return np.empty((1, self.heads, 0, self.width), self.dtype)


@dataclass(frozen=True, slots=True)
class OptimumIO:
    """What a graph takes and gives.

    Attributes:
        integers: type of each integer input by name; ``position_ids`` may be absent.
        keep: shape of ``num_logits_to_keep``, the number of last rows that reach the head (0: all);
            None: the graph always computes the logits of all rows.
        pasts: keys and values, layer by layer.
        vocab: width of the logits, if the graph states it.
    """

    integers: dict[str, Dtype]
    keep: tuple[int, ...] | None
    pasts: tuple[Past, ...]
    vocab: int | None


def discover(session: Any, *, path: object) -> OptimumIO:
    """Read the inputs and outputs of a loaded graph; ``path`` names it in messages.

    Raises:
        ModelError: the graph lacks something, has something unknown, or fixes a size that varies.
    """
    inputs = {tensor.name: tensor for tensor in session.get_inputs()}
    outputs = {tensor.name: tensor for tensor in session.get_outputs()}
    return _Reader(inputs, outputs, path).read()


class _Reader:
    """One look at a graph, with its names at hand for the messages."""

    def __init__(self, inputs: dict[str, Any], outputs: dict[str, Any], path: object) -> None:
        self._inputs, self._outputs, self._path = inputs, outputs, path

    def read(self) -> OptimumIO:
        layers = self._layers()
        keep = self._inputs.get("num_logits_to_keep")
        names = ["input_ids", "attention_mask"]
        names += [name for name in ("position_ids", "num_logits_to_keep") if name in self._inputs]
        pasts = [
            f"past_key_values.{layer}.{part}"
            for layer in range(layers)
            for part in ("key", "value")
        ]
        presents = [name.replace("past_key_values", "present") for name in pasts]
        self._same(self._inputs, [*names, *pasts], kind="input")
        self._same(self._outputs, ["logits", *presents], kind="output")
        for name in ("input_ids", "attention_mask", "position_ids"):
            if name in self._inputs:
                self._shape(self._inputs[name], free=(1,))
        logits = self._outputs["logits"]
        self._dtype(logits, FLOATS)
        vocab = self._shape(logits, rank=3)[2]
        return OptimumIO(
            integers={name: self._dtype(self._inputs[name], INTEGERS) for name in names},
            keep=None if keep is None else self._one_number(keep),
            pasts=tuple(self._past(*pair) for pair in zip(pasts, presents, strict=True)),
            vocab=vocab if isinstance(vocab, int) else None,
        )

    def _layers(self) -> int:
        """Count the layers; refuse the kinds of export that are known not to fit."""
        if "use_cache_branch" in self._inputs:
            raise self._refuse(
                "it is a merged decoder (input use_cache_branch), two graphs in one. "
                "Name the graph of the same model that is not merged, or export it anew without "
                "merging"
            )
        found = [int(match[1]) for match in map(PAST.fullmatch, self._inputs) if match]
        if not found:
            raise self._refuse(
                "it has no past_key_values inputs: exported without pasts, it would compute the "
                f"whole prompt again for every token. {EXPORT}"
            )
        return max(found) + 1

    def _one_number(self, tensor: Any) -> tuple[int, ...]:
        """Return the shape, [] or [1], of an input that holds one number."""
        if list(tensor.shape) not in ([], [1]):
            raise self._refuse(f"{tensor.name} has shape {tensor.shape}, not [] or [1]")
        return tuple(tensor.shape)

    def _past(self, source: str, target: str) -> Past:
        """Read one pair; its rows must vary, its heads and width be stated."""
        one, other = self._inputs[source], self._outputs[target]
        dtype = self._dtype(one, FLOATS)
        if self._dtype(other, FLOATS) != dtype:
            raise self._refuse(f"{source} is {one.type} but {target} is {other.type}")
        _, heads, _, width = self._shape(one, rank=4, free=(2,))
        self._shape(other, rank=4, free=(2,))
        if not (isinstance(heads, int) and isinstance(width, int)):
            raise self._refuse(f"{source} has shape {one.shape}: heads and width must be numbers")
        return Past(source=source, target=target, dtype=dtype, heads=heads, width=width)

    def _same(self, found: Iterable[str], needed: Sequence[str], *, kind: str) -> None:
        """Refuse a graph whose names are not the needed ones."""
        missing = [name for name in needed if name not in found]
        unknown = [name for name in found if name not in needed]
        if missing or unknown:
            parts = [f"missing {kind}s: {', '.join(missing)}"] if missing else []
            parts += [f"unknown {kind}s: {', '.join(unknown)}"] if unknown else []
            raise self._refuse("; ".join(parts))

    def _dtype(self, tensor: Any, allowed: dict[str, Dtype]) -> Dtype:
        if tensor.type not in allowed:
            raise self._refuse(f"{tensor.name} is {tensor.type}, not {' or '.join(allowed)}")
        return allowed[tensor.type]

    def _shape(self, tensor: Any, *, rank: int = 2, free: tuple[int, ...] = ()) -> list[Any]:
        """Check the rank, a batch that can be 1, and that the axes ``free`` have no fixed size."""
        shape = list(tensor.shape)
        fixed = [axis for axis in free if axis < len(shape) and isinstance(shape[axis], int)]
        if len(shape) != rank or fixed or (isinstance(shape[0], int) and shape[0] != 1):
            raise self._refuse(
                f"{tensor.name} has shape {shape}; it must have {rank} axes, a batch of 1, and any "
                f"number of rows. {EXPORT}"
            )
        return shape

    def _refuse(self, what: str) -> ModelError:
        return ModelError(
            f"{self._path}: {what.removesuffix('.')}. Found: {_listed(self._inputs)} -> "
            f"{_listed(self._outputs)}; {NEEDED}."
        )


def _listed(names: Iterable[str]) -> str:
    """Join names, a layer's keys and values once: 24 layers have 96 of them."""
    short = [re.sub(r"\.\d+\.", ".*.", name) for name in names]
    return ", ".join(dict.fromkeys(short)) or "nothing"
