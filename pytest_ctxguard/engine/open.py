"""Open the model as a backend: resolve, load, join with the tokenizer."""

from __future__ import annotations

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.engine.store import resolve
from pytest_ctxguard.progress import Progress, no_progress
from pytest_ctxguard.tokens.request import RequestEncoder


def open_backend(
    model: str | None = None,
    *,
    encoder: RequestEncoder,
    fetch: bool,
    workers: int = 1,
    progress: Progress = no_progress,
) -> Backend:
    """Return a backend that answers with a model on this machine's CPU.

    Args:
        model: a name, a ``.gguf`` file or a converted folder; ``None`` is the default model.
        encoder: tokenizer and chat template.
        fetch: whether a missing model may be downloaded.
        workers: how many processes share the processors; each takes its part of the threads.
        progress: told label, done and total on long work.

    Raises:
        ModelError: the model is missing, broken or unknown; the message says what to do.
    """
    files = resolve(model, fetch=fetch, progress=progress)
    from pytest_ctxguard.engine.chat import EngineBackend
    from pytest_ctxguard.engine.runner import Runner, usable_processors

    runner = Runner.load(files, threads=max(1, usable_processors() // workers))
    return EngineBackend(runner, encoder, model=files.identity)
