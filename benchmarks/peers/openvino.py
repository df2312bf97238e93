"""OpenVINO GenAI's continuous-batching pipeline with its prefix cache on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai

from benchmarks.worker import Reply, Settings

CACHE_GB = 1
"""Room for keys and values in 8 bits; over 100,000 tokens of a 0.5B model."""
FILE_TYPE_Q8_0 = 7
"""``general.file_type`` of a GGUF that is mostly Q8_0."""


def prepare(settings: Settings) -> str:
    """Rewrite the GGUF, unless that was done before; return the rewritten file."""
    status = Path(settings.gguf).stat()
    target = Path(settings.work) / f"q8_0-{status.st_size}-{status.st_mtime_ns}.gguf"
    if not target.exists():
        partial = target.with_suffix(".partial")
        rewrite_gguf(Path(settings.gguf), partial)
        partial.replace(target)
    return str(target)


def rewrite_gguf(source: Path, target: Path) -> None:
    """Write a GGUF whose quantised tensors are all Q8_0.

    OpenVINO GenAI's reader refuses files with Q4_K, Q5_0 or Q6_K tensors. Eight bits hold what
    they hold with an error well below theirs; tensors already Q8_0 or F32 are copied bit for bit.
    """
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

    reader = GGUFReader(source)
    writer = GGUFWriter(target, str(reader.fields["general.architecture"].contents()))
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in (
            "general.architecture",
            "general.file_type",
        ):
            continue
        kind = field.types[0]
        part = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=part)
    writer.add_file_type(FILE_TYPE_Q8_0)
    for tensor in reader.tensors:
        if tensor.tensor_type in (GGMLQuantizationType.F32, GGMLQuantizationType.Q8_0):
            data = tensor.data
            kept = tensor.tensor_type
        else:
            kept = GGMLQuantizationType.Q8_0
            data = quants.quantize(quants.dequantize(tensor.data, tensor.tensor_type), kept)
        writer.add_tensor(tensor.name, data, raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(settings: Settings) -> OpenVino:
    """Open the pipeline on the processor."""
    scheduler = openvino_genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True
    scheduler.cache_size = CACHE_GB
    pipeline = openvino_genai.ContinuousBatchingPipeline(
        settings.weights, scheduler, "CPU", {"INFERENCE_NUM_THREADS": settings.threads}
    )
    return OpenVino(pipeline, scheduler, batched=settings.variant == "batched")


class _Stamps(openvino_genai.StreamerBase):
    """Calls back for every token."""

    def __init__(self, on_token: Callable[[], None]) -> None:
        super().__init__()
        self._on_token = on_token

    def write(self, token: int | Sequence[int]) -> Any:
        """Count one token, or several that came together."""
        for _ in [token] if isinstance(token, int) else token:
            self._on_token()
        return openvino_genai.StreamingStatus.RUNNING

    def end(self) -> None:
        """Do nothing: every token was told."""


class OpenVino:
    """A pipeline; prompts one by one, or all but the first of a group together."""

    def __init__(self, pipeline: Any, scheduler: Any, *, batched: bool) -> None:
        self._pipeline, self._batched = pipeline, batched
        self.about = {
            "openvino": openvino.__version__,
            "openvino-genai": openvino_genai.__version__,
            "max_num_batched_tokens": str(scheduler.max_num_batched_tokens),
            "weights": "the GGUF rewritten to Q8_0",
            "together": "yes" if batched else "no",
        }

    def generate(
        self,
        prompt: list[int],
        *,
        max_tokens: int,
        stop: Sequence[int],
        on_token: Callable[[], None],
    ) -> Reply:
        """Continue one prompt."""
        config = _config(max_tokens, stop)
        results = self._pipeline.generate([_tensor(prompt)], [config], _Stamps(on_token))
        return _reply(results[0], stop)

    def generate_many(
        self, prompts: list[list[int]], *, max_tokens: int, stop: Sequence[int]
    ) -> list[Reply]:
        """Continue prompts; the first alone, so that the others find its prefix computed."""
        size = max(1, len(prompts) - 1) if self._batched else 1
        replies: list[Reply] = []
        parts = [prompts[:1], *(prompts[i : i + size] for i in range(1, len(prompts), size))]
        for part in parts:
            tensors = [_tensor(prompt) for prompt in part]
            configs = [_config(max_tokens, stop) for _ in part]
            results = sorted(
                self._pipeline.generate(tensors, configs), key=lambda result: result.m_request_id
            )
            replies += [_reply(result, stop) for result in results]
        return replies


def _tensor(prompt: list[int]) -> Any:
    return openvino.Tensor(np.array([prompt], np.int64))


def _config(max_tokens: int, stop: Sequence[int]) -> Any:
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = max_tokens
    config.do_sample = False
    if stop:
        config.eos_token_id = stop[0]
        config.stop_token_ids = set(stop)
    else:
        config.ignore_eos = True
    return config


def _reply(result: Any, stop: Sequence[int]) -> Reply:
    tokens = list(result.m_generation_ids[0])
    while tokens and tokens[-1] in stop:
        tokens.pop()
    return Reply(tokens, None)  # it does not say how much its prefix cache covered
