"""Keys and values in memory that ONNX Runtime writes in place: one prompt's, or a batch of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import ModelConfig

STEP = 512  # rows added at a time: growing copies, and attention's scratch follows the capacity


class KvBuffers:
    """Buffers float32 [batch, kv_heads, capacity, head_dim]: key and value of each layer."""

    def __init__(self, arrays: list[NDArray[np.float32]]) -> None:
        self._arrays = arrays

    @classmethod
    def allocate(cls, config: ModelConfig, *, rows: int, batch: int = 1) -> KvBuffers:
        """Make room for at least ``rows`` rows each."""
        shape = (batch, config.kv_heads, rounded_up(rows), config.head_dim)
        return cls([np.zeros(shape, np.float32) for _ in range(2 * config.layers)])

    def shaped(self, *, batch: int, capacity: int) -> KvBuffers | None:
        """Return the same memory as room for other prompts; None where it is too small."""
        first = self._arrays[0]
        shape = (batch, first.shape[1], capacity, first.shape[3])
        size = batch * first.shape[1] * capacity * first.shape[3]
        if size > first.size:
            return None
        return KvBuffers([array.reshape(-1)[:size].reshape(shape) for array in self._arrays])

    @property
    def batch(self) -> int:
        """Prompts there is room for."""
        return int(self._arrays[0].shape[0])

    @property
    def capacity(self) -> int:
        """Rows there is room for, in each prompt."""
        return int(self._arrays[0].shape[2])

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return sum(array.nbytes for array in self._arrays)

    def leading(self, count: int) -> KvBuffers:
        """Return the first ``count`` prompts' buffers, as a view."""
        return KvBuffers([array[:count] for array in self._arrays])

    def prompts(self) -> Iterator[KvBuffers]:
        """Yield each prompt's buffers, as views."""
        for index in range(self.batch):
            yield KvBuffers([array[index : index + 1] for array in self._arrays])

    def rows(self, count: int) -> list[NDArray[np.float32]]:
        """Return the first prompt's first rows, views [kv_heads, count, head_dim]."""
        return [array[0, :, :count] for array in self._arrays]

    def copy_from(self, other: KvBuffers, *, rows: int) -> None:
        """Take over the first ``rows`` rows; there must be room for them."""
        for source, target in zip(other._arrays, self._arrays, strict=True):
            target[:, :, :rows] = source[:, :, :rows]

    def bind(self, binding: Any) -> None:
        """Bind every buffer as past and as present, so that new rows are written in place."""
        for index, buffer in enumerate(self._arrays):
            name = f"{index // 2}.{('key', 'value')[index % 2]}"
            place = ("cpu", 0, np.float32, list(buffer.shape), buffer.ctypes.data)
            binding.bind_input(f"past.{name}", *place)
            binding.bind_output(f"present.{name}", *place)


def rounded_up(rows: int) -> int:
    """Return the capacity that holds so many rows."""
    return max(1, -(-rows // STEP)) * STEP


def bytes_per_row(config: ModelConfig) -> int:
    """Return the memory one token's keys and values take."""
    return 2 * config.layers * config.kv_heads * config.head_dim * np.dtype(np.float32).itemsize
