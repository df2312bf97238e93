"""The seam between the runner's bookkeeping and the graphs it can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import ModelConfig

Logits = NDArray[np.float32]


class Slot(Protocol):
    """The keys and values of one prompt, and the way to compute more of them.

    Rows are token positions. A slot is written front to back: ``run`` at ``start`` overwrites what
    was at ``start`` and later, so trimming a slot is only a smaller ``start``.
    """

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        ...

    @property
    def capacity(self) -> int:
        """Rows there is room for without allocating."""
        ...

    def reserve(self, rows: int, *, keep: int) -> None:
        """Make room for ``rows`` rows in all; the first ``keep`` stay as they are."""
        ...

    def copy_from(self, other: Self, *, rows: int) -> None:
        """Take over the first ``rows`` rows of another slot; there must be room for them."""
        ...

    def run(self, ids: NDArray[np.int64], *, start: int, rows: int) -> Logits:
        """Compute the tokens ``ids`` [1, S] at positions ``start``.. from the rows before them.

        Returns the logits of the last ``rows`` of them, shape [rows, vocab]; 0 is allowed.
        """
        ...


class Decoder(Protocol):
    """A loaded model."""

    @property
    def config(self) -> ModelConfig:
        """The model's shape; ``window`` is its context window in tokens."""
        ...

    def slot(self) -> Slot:
        """Return a new, empty slot, of this decoder's kind."""
        ...

    @property
    def batches(self) -> bool:
        """Whether prompts can be decoded together; else ``batch`` and ``step`` are not called."""
        ...

    def batch(self, source: Any, *, rows: int, capacity: int, size: int) -> Sequence[Slot]:
        """Return ``size`` slots of ``capacity`` rows that start as the first ``rows`` of a slot.

        They serve until the next ``batch``.
        """
        ...

    def step(self, slots: Sequence[Any], tokens: Sequence[int], starts: Sequence[int]) -> Logits:
        """Compute one token in each of the leading slots of the batch, [len(slots), vocab]."""
        ...
