"""Run a converted model: prefill in chunks, reuse live prefixes, decode greedily."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.config import ModelConfig
from pytest_ctxguard.engine.files import DATA_FILE, GRAPH_FILE, ModelFiles, rebuild
from pytest_ctxguard.engine.kv import KvSlot
from pytest_ctxguard.engine.prefix import SLOTS, Prefixes, chunks
from pytest_ctxguard.errors import BackendError, ModelError, PromptTooLong

CHUNK = 256  # tokens per prefill call

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Generated:
    """A greedy continuation.

    Attributes:
        tokens: the ids generated, without the stop id.
        finish_reason: ``stop``, or ``length`` when ``max_tokens`` or the window was reached.
        prompt_tokens: length of the prompt.
        cached_tokens: how many of those were not computed again.
    """

    tokens: tuple[int, ...]
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    cached_tokens: int


class _Slot:
    """A KV slot with its binding and the small arrays the binding points at."""

    def __init__(self, session: Any, config: ModelConfig) -> None:
        self.kv = KvSlot(config)
        self.binding = session.io_binding()
        self._session, self._vocab = session, config.vocab
        self._seqlens = np.zeros(1, np.int32)
        self._total = np.zeros((), np.int32)
        self._first_row = np.zeros(1, np.int64)
        for name, array in (
            ("seqlens_k", self._seqlens),
            ("total_sequence_length", self._total),
            ("first_row", self._first_row),
        ):
            shape = list(array.shape)
            self.binding.bind_input(name, "cpu", 0, array.dtype.type, shape, array.ctypes.data)
        self.kv.bind(self.binding)

    def run(self, ids: NDArray[np.int64], *, start: int, rows: int) -> Logits:
        """Compute tokens at positions start.. and return the logits of the last ``rows``."""
        count = ids.shape[1]
        self._seqlens[0] = start + count - 1
        self._total[()] = start + count
        self._first_row[0] = count - rows
        logits: Logits = np.empty((rows, self._vocab), np.float32)
        binding = self.binding
        binding.bind_input("input_ids", "cpu", 0, np.int64, [1, count], ids.ctypes.data)
        place = ("cpu", 0, np.float32, [1, rows, self._vocab], logits.ctypes.data)
        binding.bind_output("logits", *place)
        self._session.run_with_iobinding(binding)
        return logits


class Runner:
    """One loaded model with the live prefixes of its last prompts; not for concurrent use."""

    def __init__(
        self, session: Any, config: ModelConfig, *, threads: int, chunk: int = CHUNK
    ) -> None:
        self.config, self.threads, self._chunk = config, threads, chunk
        self._prefixes = Prefixes(SLOTS)
        self._slots = [_Slot(session, config) for _ in range(SLOTS)]

    @classmethod
    def load(cls, files: ModelFiles, *, threads: int | None = None, chunk: int = CHUNK) -> Runner:
        """Load a converted model, checking its weights' hash meanwhile.

        Args:
            files: the converted model.
            threads: threads within an operator; by default the processors this process may use.
            chunk: tokens per prefill call; the answers do not depend on it.

        Raises:
            ModelCorrupt: a file is not the one that was converted.
        """
        import onnxruntime

        threads = threads or usable_processors()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        with ThreadPoolExecutor(1) as pool:
            checked = pool.submit(files.check, DATA_FILE)
            try:
                session = onnxruntime.InferenceSession(
                    files.folder / GRAPH_FILE, options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:  # the runtime's own classes share no public base
                checked.result()
                raise ModelError(
                    f"{files.folder}: ONNX Runtime {onnxruntime.__version__} cannot load it "
                    f"({error}). {rebuild(files.folder)}"
                ) from error
            checked.result()
        return cls(session, files.config, threads=threads, chunk=chunk)

    def generate(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int,
        stop: Collection[int] = (),
        done: Callable[[Sequence[int]], bool] | None = None,
    ) -> Generated:
        """Continue a prompt with the likeliest token at each step.

        Ends at an id in ``stop`` (not returned), as soon as ``done(tokens)`` is true, after
        ``max_tokens``, or when the window is full.

        Raises:
            PromptTooLong: the prompt leaves no room for one more token in the window.
            BackendError: the prompt is empty.
        """
        length = len(prompt)
        slot, logits, reuse = self._prefill(prompt, rows=1, room=max_tokens)
        tokens: list[int] = []
        finish: Literal["stop", "length"] = "length"
        limit = min(max_tokens, self.config.window - length)
        ids = np.zeros((1, 1), np.int64)
        while len(tokens) < limit:
            token = int(logits[-1].argmax())
            if token in stop:
                finish = "stop"
                break
            tokens.append(token)
            if done is not None and done(tokens):
                finish = "stop"
                break
            if len(tokens) < limit:
                ids[0, 0] = token
                logits = slot.run(ids, start=length + len(tokens) - 1, rows=1)
        return Generated(
            tokens=tuple(tokens), finish_reason=finish, prompt_tokens=length, cached_tokens=reuse
        )

    def logits(self, prompt: Sequence[int], *, rows: int = 1) -> Logits:
        """Return the logits after each of the last ``rows`` tokens, shape [rows, vocab].

        ``rows`` above 1 needs the prompt's tail in one chunk: at most the chunk size.
        """
        return self._prefill(prompt, rows=rows, room=0)[1]

    def _prefill(self, prompt: Sequence[int], *, rows: int, room: int) -> tuple[_Slot, Logits, int]:
        """Compute what no live prefix covers; return slot, last logits and rows reused."""
        length, window = len(prompt), self.config.window
        if not length:
            raise BackendError("the prompt is empty; give the model at least one token")
        if length + 1 > window:
            raise PromptTooLong(length, window)
        plan = self._prefixes.begin(prompt)
        slot = self._slots[plan.slot]
        in_place = plan.slot == plan.source
        if slot.kv.reserve(min(length + room, window), keep=plan.reuse if in_place else 0):
            slot.kv.bind(slot.binding)
        if not in_place:
            slot.kv.copy_from(self._slots[plan.source].kv, rows=plan.reuse)
        ids = np.asarray(prompt, np.int64)[None]
        logits = np.empty((0, self.config.vocab), np.float32)
        for start, end in chunks(plan.reuse, length, size=self._chunk):
            part = np.ascontiguousarray(ids[:, start:end])
            logits = slot.run(part, start=start, rows=rows if end == length else 0)
        self._prefixes.commit(plan.slot, prompt)
        return slot, logits, plan.reuse


def usable_processors() -> int:
    """Count the processors this process may run on."""
    import os

    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1
