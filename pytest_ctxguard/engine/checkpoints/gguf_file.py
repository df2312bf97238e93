"""The container of a GGUF file: metadata and tensors, memory-mapped.

The ``gguf`` package reads it too, but takes half a minute for a vocabulary's strings and answers
a file cut short with whatever error comes first. Format:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.layout import KINDS, check_kind
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.errors import ModelCorrupt

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32  # of tensor data, unless general.alignment says otherwise
MAX_DIMENSIONS = 4
STRING, ARRAY = 8, 9
SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
NAMES = {kind.id: name for name, kind in KINDS.items()}
OTHER_NAMES = {
    9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS",
    19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16",
    26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
    40: "NVFP4",
}  # fmt: skip
"""Types that are refused, by the name their users know."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """Metadata by key, and tensors by name (views of the mapped file, still quantised)."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, Weight]


def open_gguf(path: Path) -> GgufFile:
    """Map a GGUF file and read its header.

    Raises:
        ModelCorrupt: it is no GGUF file, or cut short.
        ModelError: a tensor has a type this package does not read.
    """
    try:
        data: NDArray[np.uint8] = np.memmap(path, np.uint8, mode="r")
        reader = _Reader(data)
        tensors, metadata = reader.count_tensors(), reader.metadata()
        infos = [reader.tensor_info() for _ in range(tensors)]
        start = reader.aligned(metadata.get("general.alignment", ALIGNMENT))
    except OSError as error:
        raise ModelCorrupt(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, OverflowError, RecursionError, struct.error) as error:
        raise _broken(path, str(error)) from error
    found = {}
    for name, shape, number, offset in infos:
        kind = NAMES.get(number) or OTHER_NAMES.get(number, f"number {number}")
        check_kind(path, name, kind)
        if name in found:
            raise _broken(path, f"the tensor {name} comes twice")
        view = _view(data, start + offset, shape=shape, kind=kind)
        if view is None:
            raise _broken(path, f"the tensor {name} reaches beyond its end")
        found[name] = Weight(view, kind)
    return GgufFile(metadata, found)


def _broken(path: Path, why: str) -> ModelCorrupt:
    return ModelCorrupt(f"{path}: not a whole GGUF file ({why}). Copy or fetch it again.")


def _view(
    data: NDArray[np.uint8], start: int, *, shape: tuple[int, ...], kind: str
) -> NDArray[Any] | None:
    """Return a tensor's rows: float32 values, or raw bytes; None if the file ends before."""
    layout = KINDS[kind]
    *rows, length = shape
    row_bytes = length // layout.block * layout.size
    size = math.prod(rows) * row_bytes
    if length % layout.block or start + size > len(data):
        return None
    raw = np.asarray(data[start : start + size])
    if kind == "F32":
        return raw.view("<f4").reshape(shape)
    return raw.reshape(*rows, row_bytes)


class _Reader:
    """Reads a header front to back; running past the end raises struct.error or ValueError."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = memoryview(data.data)
        self._at = 4
        if self._data[:4] != MAGIC:
            raise ValueError("it does not start with GGUF")
        version = self._number("<I")
        if version not in VERSIONS:
            raise ValueError(f"version {version}; {VERSIONS[0]} and {VERSIONS[1]} are read")

    def count_tensors(self) -> int:
        """Read the number of tensors, which comes first."""
        return int(self._number("<Q"))

    def metadata(self) -> dict[str, Any]:
        """Read keys and values."""
        count = self._number("<Q")
        return {self._string(): self._value(self._number("<I")) for _ in range(count)}

    def tensor_info(self) -> tuple[str, tuple[int, ...], int, int]:
        """Read a tensor's name, shape (rows first), type number and offset."""
        name, dimensions = self._string(), self._number("<I")
        if not 0 < dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"the tensor {name} has {dimensions} dimensions")
        shape = tuple(self._number("<Q") for _ in range(dimensions))
        return name, shape[::-1], self._number("<I"), self._number("<Q")

    def aligned(self, alignment: Any) -> int:
        """Return where tensor data starts."""
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError(f"general.alignment is {alignment!r}")
        return self._at + -self._at % alignment

    def _number(self, layout: str) -> Any:
        (value,) = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return value

    def _string(self) -> str:
        start = self._at + 8
        self._at = start + self._number("<Q")
        if self._at > len(self._data):
            raise ValueError("a text reaches beyond its end")
        return str(self._data[start : self._at], "utf-8")

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind in SCALARS:
            return self._number(SCALARS[kind])
        if kind != ARRAY:
            raise ValueError(f"a value has type {kind}")
        inner, length = self._number("<I"), self._number("<Q")
        if inner not in SCALARS:
            return [self._value(inner) for _ in range(length)]
        layout = SCALARS[inner][1]
        values = struct.unpack_from(f"<{length}{layout}", self._data, self._at)
        self._at += struct.calcsize(f"<{length}{layout}")
        return list(values)
