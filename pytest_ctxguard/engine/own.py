"""Run the engine's own graph: keys and values stay where they are, prompts decode in batches."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.decoder import Logits
from pytest_ctxguard.engine.export import DATA_FILE, GRAPH_FILE
from pytest_ctxguard.engine.kv import KvBuffers, rounded_up
from pytest_ctxguard.engine.models.files import ModelFiles, rebuild
from pytest_ctxguard.engine.session import session_options
from pytest_ctxguard.errors import ModelError


class _Call:
    """A binding of the graph to some buffers, and the small arrays the binding points at."""

    def __init__(self, session: Any, config: ModelConfig, kv: KvBuffers) -> None:
        self._session, self._vocab = session, config.vocab
        self._binding = session.io_binding()
        self._seqlens = np.zeros(kv.batch, np.int32)
        self._total = np.zeros((), np.int32)
        self._first_row = np.zeros(1, np.int64)
        for name, array in (
            ("seqlens_k", self._seqlens),
            ("total_sequence_length", self._total),
            ("first_row", self._first_row),
        ):
            shape = list(array.shape)
            place = (array.dtype.type, shape, array.ctypes.data)
            self._binding.bind_input(name, "cpu", 0, *place)
        kv.bind(self._binding)

    def run(self, ids: NDArray[np.int64], *, starts: Sequence[int], rows: int) -> Logits:
        """Compute tokens [B, S] at positions starts.., and the logits of the last ``rows``."""
        batch, count = ids.shape
        self._seqlens[:] = [start + count - 1 for start in starts]
        self._total[()] = max(starts) + count
        self._first_row[0] = count - rows
        logits: Logits = np.empty((batch, rows, self._vocab), np.float32)
        binding = self._binding
        binding.bind_input("input_ids", "cpu", 0, np.int64, [batch, count], ids.ctypes.data)
        place = ("cpu", 0, np.float32, list(logits.shape), logits.ctypes.data)
        binding.bind_output("logits", *place)
        self._session.run_with_iobinding(binding)
        return logits


class OwnSlot:
    """One prompt's keys and values; see ``decoder.Slot``."""

    def __init__(self, session: Any, config: ModelConfig, kv: KvBuffers | None = None) -> None:
        self._session, self._config = session, config
        self.kv = KvBuffers.allocate(config, rows=0) if kv is None else kv
        self._call = _Call(session, config, self.kv)

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        return self.kv.nbytes

    @property
    def capacity(self) -> int:
        """Rows there is room for without allocating."""
        return self.kv.capacity

    def reserve(self, rows: int, *, keep: int) -> None:
        """Make room for ``rows`` rows in all; the first ``keep`` stay as they are."""
        if rows > self.kv.capacity:
            old, self.kv = self.kv, KvBuffers.allocate(self._config, rows=rows)
            self.kv.copy_from(old, rows=keep)
            self._call = _Call(self._session, self._config, self.kv)

    def copy_from(self, other: OwnSlot, *, rows: int) -> None:
        """Take over the first ``rows`` rows of another slot; there must be room for them."""
        self.kv.copy_from(other.kv, rows=rows)

    def run(self, ids: NDArray[np.int64], *, start: int, rows: int) -> Logits:
        """Compute tokens [1, S] at positions start.., and the logits of the last ``rows``."""
        logits: Logits = self._call.run(ids, starts=[start], rows=rows)[0]
        return logits


class OwnDecoder:
    """The engine's own graph, loaded; see ``decoder.Decoder``."""

    batches = True

    def __init__(self, session: Any, config: ModelConfig) -> None:
        self._session, self.config = session, config
        self._memory: KvBuffers | None = None  # kept: touching fresh memory is slow
        self._bank: KvBuffers | None = None
        self._slots: list[OwnSlot] = []
        self._calls: dict[int, _Call] = {}

    def slot(self) -> OwnSlot:
        """Return a new, empty slot."""
        return OwnSlot(self._session, self.config)

    def batch(self, source: OwnSlot, *, rows: int, capacity: int, size: int) -> Sequence[OwnSlot]:
        """Return slots that start as the first rows of another; the last batch's end."""
        capacity = rounded_up(capacity)
        if self._bank is None or (self._bank.batch, self._bank.capacity) != (size, capacity):
            self._bank = self._shaped(size, capacity)
            self._slots = [OwnSlot(self._session, self.config, kv) for kv in self._bank.prompts()]
            self._calls = {}
        for slot in self._slots:
            slot.copy_from(source, rows=rows)
        return self._slots

    def _shaped(self, size: int, capacity: int) -> KvBuffers:
        bank = self._memory and self._memory.shaped(batch=size, capacity=capacity)
        if bank is None:
            self._memory = self._bank = None  # the old one first, so that both are never held
            self._slots, self._calls = [], {}
            self._memory = bank = KvBuffers.allocate(self.config, rows=capacity, batch=size)
        return bank

    def step(
        self, slots: Sequence[OwnSlot], tokens: Sequence[int], starts: Sequence[int]
    ) -> Logits:
        """Compute one token in each slot of a batch, shape [len(slots), vocab].

        ``slots`` are the first ones that ``batch`` returned, in its order.
        """
        size = len(slots)
        if self._bank is None or any(a is not b for a, b in zip(slots, self._slots, strict=False)):
            raise ValueError("step takes the leading slots of the last batch, in order")
        if size not in self._calls:
            self._calls[size] = _Call(self._session, self.config, self._bank.leading(size))
        ids = np.asarray(tokens, np.int64)[:, None]
        logits: Logits = self._calls[size].run(ids, starts=starts, rows=1)[:, 0]
        return logits


def load_own(files: ModelFiles, *, threads: int) -> OwnDecoder:
    """Load a converted model, checking its weights' hash meanwhile.

    Raises:
        ModelCorrupt: a file is not the one that was converted.
        ModelError: the runtime cannot load it.
    """
    import onnxruntime

    with ThreadPoolExecutor(1) as pool:
        checked = pool.submit(files.check, DATA_FILE)
        try:
            session = onnxruntime.InferenceSession(
                files.folder / GRAPH_FILE,
                session_options(threads),
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # the runtime's own classes share no public base
            checked.result()
            raise ModelError(
                f"{files.folder}: ONNX Runtime {onnxruntime.__version__} cannot load it "
                f"({error}). {rebuild(files.folder)}"
            ) from error
        checked.result()
    return OwnDecoder(session, files.config)
