"""Tensors as their file holds them, and tables of rows in 8-bit blocks.

A row of K weights is cut into blocks; block b holds ``scale[b] * (q - 128)`` with q in 0..255.
GGUF types that are symmetric in blocks of 16 or 32 (Q4_0, Q5_0, Q8_0, Q6_K) fit without loss:
their own scale is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MIDDLE = 128  # the level that means zero


@dataclass(frozen=True, slots=True)
class Weight:
    """One tensor as its file holds it.

    Attributes:
        data: float32 values for kind ``F32``, else the raw bytes of each row, shape [N, bytes].
        kind: the name of its GGUF type.
    """

    data: NDArray[Any]
    kind: str = "F32"

    def floats(self) -> Floats:
        """Dequantise, shape [N, K] or [K]."""
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        if self.kind == "F32":
            return np.asarray(self.data, np.float32)
        values: Floats = dequantize(self.data, GGMLQuantizationType[self.kind])
        return values


@dataclass(frozen=True, slots=True)
class Packed:
    """A matrix [N, K] in 8-bit blocks.

    Attributes:
        levels: uint8, shape [N, K / block, block].
        scales: float32, shape [N, K / block].
    """

    levels: NDArray[np.uint8]
    scales: Floats

    @property
    def block(self) -> int:
        """The block length."""
        return int(self.levels.shape[2])

    def floats(self) -> Floats:
        """Dequantise, shape [N, K]."""
        values: Floats = (self.levels - np.float32(MIDDLE)) * self.scales[:, :, None]
        return values.reshape(len(values), -1)


def _leading_f16(data: NDArray[np.uint8], *, size: int) -> Floats:
    """Read the float16 that opens each block of ``size`` bytes, shape [N, blocks]."""
    blocks = data.reshape(len(data), -1, size)
    return np.ascontiguousarray(blocks[:, :, :2]).view(np.float16)[:, :, 0].astype(np.float32)


def _q6_k_scales(data: NDArray[np.uint8]) -> Floats:
    """Multiply the float16 of each 210-byte super-block with its 16 int8 scales, [N, 16 blocks]."""
    blocks = data.reshape(len(data), -1, 210)
    small = np.ascontiguousarray(blocks[:, :, 192:208]).view(np.int8).astype(np.float32)
    large = np.ascontiguousarray(blocks[:, :, 208:210]).view(np.float16).astype(np.float32)
    return (small * large).reshape(len(data), -1)


# type -> block length and its scales; byte layouts as in ggml-common.h of the GGUF format
LOSSLESS: dict[str, tuple[int, Callable[[NDArray[np.uint8]], Floats]]] = {
    "Q4_0": (32, lambda data: _leading_f16(data, size=18)),
    "Q5_0": (32, lambda data: _leading_f16(data, size=22)),
    "Q8_0": (32, lambda data: _leading_f16(data, size=34)),
    "Q6_K": (16, _q6_k_scales),
}


def pack(weight: Weight) -> Packed:
    """Pack a matrix [N, K] of a type in ``LOSSLESS``."""
    values = weight.floats()
    block, read_scales = LOSSLESS[weight.kind]
    scales = read_scales(weight.data)
    safe = np.where(scales == 0, np.float32(1), scales)[:, :, None]
    levels = np.rint(values.reshape(len(values), -1, block) / safe) + MIDDLE
    return Packed(levels=levels.astype(np.uint8), scales=scales)
