"""Our own engine, opened as the plugin opens it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnxruntime  # loaded here, so that its import is not counted as loading the model

from benchmarks.worker import Reply, Settings
from pytest_ctxguard.cache import cache_folder
from pytest_ctxguard.engine.chat import EngineBackend
from pytest_ctxguard.engine.models.sources import CODER
from pytest_ctxguard.engine.models.store import resolve
from pytest_ctxguard.engine.open import open_backend
from pytest_ctxguard.tokens.request import RequestEncoder


def prepare(settings: Settings) -> str:
    """Convert the weights, unless that was done before; return the converted folder."""
    gguf = Path(settings.gguf)
    default = cache_folder() / CODER.name / gguf.name
    return str(resolve(None if gguf == default else settings.gguf).folder)


def load(settings: Settings) -> Ours:
    """Open the converted model; the process has as many processors as it shall use threads."""
    backend = open_backend(settings.weights, encoder=RequestEncoder(), fetch=False)
    if not isinstance(backend, EngineBackend):
        raise TypeError(f"expected the in-process engine, got {type(backend).__name__}")
    return Ours(backend)


class Ours:
    """The runner behind the backend: it takes token ids."""

    def __init__(self, backend: EngineBackend) -> None:
        self._runner: Any = backend._runner
        self.about = {
            "pytest-ctxguard": importlib.metadata.version("pytest-ctxguard"),
            "onnxruntime": onnxruntime.__version__,
            **backend.identity,
            "together": "yes",
        }

    def generate(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        stop: Sequence[int],
        on_token: Callable[[], None],
    ) -> Reply:
        """Continue a prompt; the runner asks ``done`` after each token."""

        def done(_: Sequence[int]) -> bool:
            on_token()
            return False

        return _reply(
            self._runner.generate(prompt, max_tokens=max_tokens, stop=tuple(stop), done=done)
        )

    def generate_many(
        self, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
    ) -> list[Reply]:
        """Continue several prompts, together where the runner can."""
        results = self._runner.generate_many(prompts, max_tokens=max_tokens, stop=tuple(stop))
        return [_reply(result) for result in results]


def _reply(result: Any) -> Reply:
    return Reply(result.tokens, result.prompt_tokens - result.cached_tokens)
