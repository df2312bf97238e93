"""The keys and values of one prompt, in memory that ONNX Runtime writes in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.config import ModelConfig

STEP = 1024  # rows added at a time: growing copies, and attention's scratch follows the capacity


class KvSlot:
    """Buffers float32 [1, kv_heads, capacity, head_dim], key and value of each layer in turn."""

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._buffers = self._allocate(STEP)

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return int(self._buffers[0].shape[2])

    def reserve(self, rows: int, *, keep: int) -> bool:
        """Make room for ``rows`` rows, keeping the first ``keep``; tell whether memory moved."""
        if rows <= self.capacity:
            return False
        old = self._buffers
        self._buffers = self._allocate(-(-rows // STEP) * STEP)
        for source, target in zip(old, self._buffers, strict=True):
            target[:, :, :keep] = source[:, :, :keep]
        return True

    def copy_from(self, other: KvSlot, *, rows: int) -> None:
        """Take over the first ``rows`` rows of another slot; there must be room for them."""
        for source, target in zip(other._buffers, self._buffers, strict=True):
            target[:, :, :rows] = source[:, :, :rows]

    def bind(self, binding: Any) -> None:
        """Bind every buffer as past and as present, so that new rows are written in place."""
        for index, buffer in enumerate(self._buffers):
            name = f"{index // 2}.{('key', 'value')[index % 2]}"
            place = ("cpu", 0, np.float32, list(buffer.shape), buffer.ctypes.data)
            binding.bind_input(f"past.{name}", *place)
            binding.bind_output(f"present.{name}", *place)

    def _allocate(self, rows: int) -> list[NDArray[np.float32]]:
        shape = (1, self._config.kv_heads, rows, self._config.head_dim)
        return [np.zeros(shape, np.float32) for _ in range(2 * self._config.layers)]
