"""torch in bfloat16 through transformers, weights dequantised from the same GGUF at load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.worker import Reply, Settings, one_by_one


def prepare(settings: Settings) -> str:
    """Return the GGUF: transformers reads it itself."""
    return settings.gguf


def load(settings: Settings) -> TorchBf16:
    """Load the GGUF into dense bfloat16; left packed, every product would unpack and cast."""
    torch.set_num_threads(settings.threads)
    gguf = Path(settings.weights)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=transformers.GgufConfig(dequantize=True),
    )
    return TorchBf16(model.eval())


class TorchBf16:
    """A model with one growing cache, cropped to the prefix that the next prompt shares."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache = transformers.DynamicCache(config=model.config)
        self._held: list[int] = []
        self.about = {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "dtype": str(model.dtype),
            "attention": str(model.config._attn_implementation),
            "threads": str(torch.get_num_threads()),
        }

    def generate(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        stop: Sequence[int],
        on_token: Callable[[], None],
    ) -> Reply:
        """Continue a prompt, computing what the cache does not hold in one call."""
        reuse = self._crop(prompt)
        token = self._step(prompt[reuse:])
        tokens: list[int] = []
        while token not in stop:
            on_token()
            tokens.append(token)
            if len(tokens) == max_tokens:
                break
            token = self._step([token])
        return Reply(tokens, len(prompt) - reuse)

    def generate_many(
        self, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
    ) -> list[Reply]:
        """Continue prompts one by one."""
        return one_by_one(self, prompts, max_tokens=max_tokens, stop=stop)

    def _crop(self, prompt: list[int]) -> int:
        """Cut the cache to the shared prefix, leaving one token to compute; return its length."""
        shared = 0
        for held, wanted in zip(self._held, prompt[:-1], strict=False):
            if held != wanted:
                break
            shared += 1
        if shared:
            self._cache.crop(shared - len(self._held))  # counts the tokens to remove, negative
        else:
            self._cache = transformers.DynamicCache(config=self._model.config)
        self._held = self._held[:shared]
        return shared

    def _step(self, ids: list[int]) -> int:
        with torch.inference_mode():
            output = self._model(
                input_ids=torch.tensor([ids]),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        self._held += ids
        return int(output.logits[0, -1].argmax())
