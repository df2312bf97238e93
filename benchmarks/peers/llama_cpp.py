"""llama.cpp through llama-cpp-python, on the GGUF as it is, with its prefix match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import llama_cpp

from benchmarks.worker import Reply, Settings, one_by_one


def prepare(settings: Settings) -> str:
    """Return the GGUF: llama.cpp reads it itself."""
    return settings.gguf


def load(settings: Settings) -> LlamaCpp:
    """Load the model; variants ``no_repack`` and ``flash`` change one setting each.

    Repacked weights (the library's default) are kept, and flash attention is left off, as the
    binding does.
    """
    with ExitStack() as stack:
        if settings.variant == "no_repack":
            default = llama_cpp.llama_model_default_params

            def plain() -> Any:
                parameters = default()
                parameters.use_extra_bufts = False  # the binding has no argument for it
                return parameters

            stack.enter_context(patch("llama_cpp.llama_cpp.llama_model_default_params", plain))
        model = llama_cpp.Llama(
            settings.weights,
            n_ctx=settings.context,
            n_threads=settings.threads,
            n_threads_batch=settings.threads,
            flash_attn=settings.variant == "flash",
            verbose=False,
        )
    return LlamaCpp(model, variant=settings.variant)


class LlamaCpp:
    """A model with one sequence; what the next prompt shares with it is kept."""

    def __init__(self, model: Any, *, variant: str) -> None:
        self._model = model
        system = llama_cpp.llama_print_system_info().decode()
        self.about = {
            "llama-cpp-python": llama_cpp.__version__,
            "system": " ".join(system.split()),
            "repacked_weights": str(model.model_params.use_extra_bufts),
            "flash_attention": "yes" if variant == "flash" else "no",
            "n_ubatch": str(model.context_params.n_ubatch),
        }

    def generate(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        stop: Sequence[int],
        on_token: Callable[[], None],
    ) -> Reply:
        """Continue a prompt with the likeliest tokens."""
        reuse = self._shared(prompt)
        tokens: list[int] = []
        for token in self._model.generate(prompt, temp=0.0, repeat_penalty=1.0):
            if token in stop:
                break
            on_token()
            tokens.append(token)
            if len(tokens) == max_tokens:
                break
        return Reply(tokens, len(prompt) - reuse)

    def generate_many(
        self, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
    ) -> list[Reply]:
        """Continue prompts one by one: the binding decodes one sequence."""
        return one_by_one(self, prompts, max_tokens=max_tokens, stop=stop)

    def _shared(self, prompt: list[int]) -> int:
        """Count what the binding's own prefix match is about to keep."""
        shared = 0
        held = self._model.input_ids[: self._model.n_tokens]
        for kept, wanted in zip(held, prompt[:-1], strict=False):
            if kept != wanted:
                break
            shared += 1
        return shared
