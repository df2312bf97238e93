"""Run a decoder graph with Optimum's inputs and outputs, as the hub's ONNX folders hold them.

Such a graph takes keys and values as separate tensors and returns them longer, so every call writes
all rows anew; they stay in the runtime's memory between calls. It computes the logits of all rows
it is given: at a vocabulary of 151,936 in float32, 0.6 MB a row, so prompts come in chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.decoder import Logits
from pytest_ctxguard.engine.optimum.config import read_config
from pytest_ctxguard.engine.optimum.discovery import OptimumIO, discover
from pytest_ctxguard.engine.session import session_options
from pytest_ctxguard.errors import BackendError, ModelError

ONE_AT_A_TIME = "a graph with Optimum's inputs decodes one prompt at a time"


class OptimumSlot:
    """The keys and values of one prompt, as the tensors the graph returned last.

    They are never written to: a call returns new ones, and slots may share them.
    """

    def __init__(self, session: Any, io: OptimumIO, *, vocab: int) -> None:
        self._session, self._io, self._vocab = session, io, vocab
        self._pasts = [_value(past.empty()) for past in io.pasts]

    @property
    def rows(self) -> int:
        """Rows held."""
        return int(self._pasts[0].shape()[2])

    @property
    def capacity(self) -> int:
        """Rows there is room for without allocating: those held, as each call allocates anew."""
        return self.rows

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes; twice as much is in use during a call."""
        return sum(self.rows * past.row_bytes for past in self._io.pasts)

    def reserve(self, rows: int, *, keep: int) -> None:
        """Forget all but the first ``keep`` rows; the graph itself makes room for ``rows``."""
        self._pasts = _first(self._pasts, min(keep, self.rows))

    def copy_from(self, other: Self, *, rows: int) -> None:
        """Take over the first ``rows`` rows of another slot of the same decoder.

        Raises:
            BackendError: it does not hold that many.
        """
        other._require(rows)
        self._pasts = _first(other._pasts, rows)

    def run(self, ids: NDArray[np.int64], *, start: int, rows: int) -> Logits:
        """Compute the tokens ``ids`` [1, S] at positions ``start``.. from the rows before them.

        Returns the logits of the last ``rows`` of them, float32, shape [rows, vocab]. With ``rows``
        0 they are not fetched, but ONNX Runtime computes them all the same: in Qwen2.5-0.5B 28 % of
        the products with weights. Only a graph with ``num_logits_to_keep`` spares them.

        Raises:
            BackendError: fewer than ``start`` rows are held, or the runtime fails.
        """
        self._require(start)
        pasts = _first(self._pasts, start)
        end = start + ids.shape[1]
        feeds = self._feeds(ids, start=start, end=end, rows=rows)
        binding = self._session.io_binding()  # anew each time: it holds on to what it binds
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        for past, value in zip(self._io.pasts, pasts, strict=True):
            binding.bind_ortvalue_input(past.source, value)
            binding.bind_output(past.target, "cpu")
        if rows:
            binding.bind_output("logits", "cpu")
        try:
            self._session.run_with_iobinding(binding)
        except Exception as error:  # the runtime's own classes share no public base
            raise BackendError(
                f"the graph could not compute tokens {start} to {end - 1}: {error}"
            ) from error
        values = binding.get_outputs()
        count = len(self._io.pasts)
        self._pasts = values[:count]
        if not rows:
            return np.empty((0, self._vocab), np.float32)
        logits = values[count].numpy()[0, -rows:]
        return np.array(logits, np.float32)  # a copy: the view would keep all rows in memory

    def _feeds(
        self, ids: NDArray[np.int64], *, start: int, end: int, rows: int
    ) -> dict[str, NDArray[Any]]:
        """Return the integer inputs in the graph's own types."""
        values: dict[str, NDArray[np.int64]] = {
            "input_ids": ids,
            "attention_mask": np.ones((1, end), np.int64),
            "position_ids": np.arange(start, end, dtype=np.int64)[None],
        }
        if self._io.keep is not None:
            values["num_logits_to_keep"] = np.full(self._io.keep, max(rows, 1), np.int64)
        types = self._io.integers
        return {name: np.ascontiguousarray(values[name], types[name]) for name in types}

    def _require(self, rows: int) -> None:
        if rows > self.rows:
            raise BackendError(f"the slot holds {self.rows} rows, not the {rows} it is asked for")


class OptimumDecoder:
    """A loaded graph; it decodes one prompt at a time.

    Attributes:
        config: the model's shape.
        stop_ids: ids that end an answer, by the JSON files beside the graph; may be empty.
    """

    def __init__(
        self, session: Any, io: OptimumIO, *, config: ModelConfig, stop_ids: tuple[int, ...]
    ) -> None:
        self.config, self.stop_ids = config, stop_ids
        self._session, self._io = session, io

    def slot(self) -> OptimumSlot:
        """Return a new, empty slot."""
        return OptimumSlot(self._session, self._io, vocab=self.config.vocab)

    @property
    def batches(self) -> bool:
        """Whether prompts can be decoded together: no, each has a past of its own length."""
        return False

    def batch(self, source: Any, *, rows: int, capacity: int, size: int) -> Sequence[Any]:
        """Refuse; ``batches`` is false."""
        raise BackendError(ONE_AT_A_TIME)

    def step(self, slots: Sequence[Any], tokens: Sequence[int], starts: Sequence[int]) -> Logits:
        """Refuse; ``batches`` is false."""
        raise BackendError(ONE_AT_A_TIME)


def open_optimum(folder: Path, graph: Path, *, threads: int) -> OptimumDecoder:
    """Load a graph with Optimum's inputs and outputs.

    Args:
        folder: the model's folder, with ``config.json`` and, if any, ``generation_config.json``;
            both may also be beside the graph.
        graph: the ``.onnx`` file, absolute or within ``folder``; its external data is beside it.
        threads: threads within an operator.

    Raises:
        ModelError: a file is missing or broken, or the graph is not one that can be run.
    """
    import onnxruntime

    path = folder / graph
    if not path.is_file():
        raise ModelError(f"{path}: no such graph. {_choices(folder)}")
    options = session_options(threads)
    options.enable_mem_pattern = False  # one would be planned and kept for every length of past
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own classes share no public base
        raise ModelError(
            f"{path}: ONNX Runtime {onnxruntime.__version__} cannot load it ({error}). Is the "
            "file whole, and are its external data files (such as model.onnx_data) beside it?"
        ) from error
    io = discover(session, path=path)
    config, stop_ids = read_config(path, folder=folder, io=io)
    return OptimumDecoder(session, io, config=config, stop_ids=stop_ids)


def _choices(folder: Path) -> str:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.onnx"))
    return f"Graphs in {folder}: {', '.join(names) or 'none'}."


def _value(array: NDArray[Any]) -> Any:
    """Wrap an array, which the runtime then reads in place."""
    import onnxruntime

    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def _first(pasts: list[Any], rows: int) -> list[Any]:
    """Return the first ``rows`` rows; a copy unless that is all of them."""
    if pasts[0].shape()[2] == rows:
        return list(pasts)
    return [_value(np.ascontiguousarray(past.numpy()[:, :, :rows])) for past in pasts]
