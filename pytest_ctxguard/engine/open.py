"""Open the model as a backend: resolve, load, join with its tokenizer."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.engine.models.store import resolve
from pytest_ctxguard.engine.numerics import numerics
from pytest_ctxguard.progress import Progress, no_progress
from pytest_ctxguard.tokens.request import RequestEncoder

if TYPE_CHECKING:
    from pytest_ctxguard.engine.chat import Encoder
    from pytest_ctxguard.engine.decoder import Decoder
    from pytest_ctxguard.engine.prefix_files import PrefixFiles


def open_backend(
    model: str | None = None,
    *,
    encoder: RequestEncoder,
    fetch: bool,
    prefix_cache: int = 0,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> Backend:
    """Return a backend that answers with a model on this machine's CPU.

    Args:
        model: a name, a file or a folder, as ``store.resolve`` takes it; ``None`` is the default
            model.
        encoder: Qwen2.5's tokenizer and chat template; a model with others brings its own.
        fetch: whether a missing model may be downloaded.
        prefix_cache: bytes of long prompts' keys and values to keep on disk for the next run.
        threads: to compute with; None is one for each processor. Their number changes no
            answer; an Optimum export, of whose graph we cannot say so, takes all whatever is asked.
        progress: told label, done and total on long work.

    Raises:
        ModelError: the model is missing, broken or unknown; the message says what to do.
    """
    files = resolve(model, fetch=fetch, progress=progress)
    from pytest_ctxguard.engine.chat import EngineBackend
    from pytest_ctxguard.engine.fingerprint import engine_fingerprint
    from pytest_ctxguard.engine.runner import Runner

    if threads is None or files.format == "optimum":
        threads = usable_processors()
    runner = Runner(load(files, threads=threads), files=_prefix_files(files, prefix_cache))
    return EngineBackend(
        runner,
        encoder_of(files, encoder),
        model=files.identity,
        window=runner.config.window,
        fingerprint=engine_fingerprint(
            files, threads=threads, special_tokens=encoder.special_tokens
        ),
    )


def encoder_of(files: ModelFiles, encoder: RequestEncoder) -> Encoder:
    """Return a model's own tokenizer and chat template, or Qwen2.5's where those are meant."""
    own = files.tokenizer()
    if own is None:
        return encoder
    from pytest_ctxguard.tokens.model_encoder import ModelEncoder

    return ModelEncoder(own, name=files.name, special_tokens=encoder.special_tokens)


def _prefix_files(files: ModelFiles, budget: int) -> PrefixFiles | None:
    """Return where long prompts are kept: apart for each model and kind of processor."""
    if not budget or files.format != "own":
        return None
    from pytest_ctxguard.engine.prefix_files import PrefixFiles

    key = hashlib.sha256(f"{files.identity}\n{numerics()}".encode()).hexdigest()[:16]
    return PrefixFiles(cache_folder() / "prefixes" / key, budget=budget)


def load(files: ModelFiles, *, threads: int) -> Decoder:
    """Load a model of either format, checking its bytes."""
    from pytest_ctxguard.engine.optimum.decoder import open_optimum
    from pytest_ctxguard.engine.own import load_own

    if files.format == "optimum":
        files.check()
        return open_optimum(files.folder, files.graph, threads=threads)
    return load_own(files, threads=threads)


def usable_processors() -> int:
    """Count the processors this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1
