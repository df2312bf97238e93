"""Read a decoder and its tokenizer from a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytest_ctxguard.engine.checkpoints.config import ARCHITECTURES, LLAMA, ModelConfig
from pytest_ctxguard.engine.checkpoints.gguf_file import open_gguf
from pytest_ctxguard.engine.checkpoints.layout import (
    EMBEDDING,
    REMEDY,
    ModelParts,
    check_config,
    check_weights,
    weight_shape,
)
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.errors import ModelCorrupt, ModelError
from pytest_ctxguard.tokens.byte_bpe import CONTROL, tokenizer_json
from pytest_ctxguard.tokens.tokenizer_files import TokenizerFiles, name_special_tokens

ROPE_THETA = 10_000.0  # what a file without rope.freq_base means
ROPE_FACTORS = "rope_freqs.weight"
END_TOKENS = ("<|endoftext|>", "<|im_end|>", "<|end_of_text|>", "<|eot_id|>")

# Keys that change what a decoder computes, and the values that leave it plain. A key that is
# not there is plain.
PLAIN: dict[str, tuple[Any, ...]] = {
    "expert_count": (0,),
    "expert_used_count": (0,),
    "attention.sliding_window": (0,),
    "attention.causal": (True,),
    "attention.scale": (0.0,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attn_logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "logit_scale": (0.0, 1.0),
    "embedding_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "use_parallel_residual": (False,),
    "pooling_type": (0,),
}
PLAIN_ROPE_SCALING = ("none", 1.0, 0.0, False)


def read_gguf(path: Path) -> ModelParts:
    """Read configuration, tensors (views of the mapped file, still quantised) and tokenizer.

    Raises:
        ModelCorrupt: the file is broken or cut short.
        ModelError: it holds a model this engine cannot run.
    """
    file = open_gguf(path)
    _check_kind(path, file.metadata, file.tensors)
    try:
        config = _read_config(file.metadata, file.tensors)
        check_config(path, config)
        check_weights(path, config, file.tensors)
        tokenizer = _read_tokenizer(path, file.metadata)
    except KeyError as error:
        raise ModelCorrupt(f"{path}: {error} is missing. {REMEDY}") from error
    except (TypeError, AttributeError) as error:
        raise ModelCorrupt(f"{path}: a value has the wrong type ({error}). {REMEDY}") from error
    if len(file.metadata["tokenizer.ggml.tokens"]) > config.vocab:
        raise ModelCorrupt(f"{path}: the vocabulary is larger than the embedding. {REMEDY}")
    weights = file.tensors
    if config.architecture == LLAMA:
        weights = Unpermuted(weights, config)
    return ModelParts(config=config, weights=weights, tokenizer=tokenizer)


class Unpermuted(Mapping[str, Weight]):
    """The tensors of a llama file, query and key rows back in the order of the original model.

    GGUF stores them so that the two halves of a rotary pair are neighbours; everything here
    rotates halves of a head, as the Hugging Face layout does. Rows are quantised each by
    itself, so they move without being read.
    """

    def __init__(self, weights: Mapping[str, Weight], config: ModelConfig) -> None:
        self._weights, self._half = weights, config.head_dim // 2

    def __getitem__(self, name: str) -> Weight:
        weight = self._weights[name]
        if not name.endswith(("attn_q.weight", "attn_k.weight")):
            return weight
        rows = np.arange(len(weight.data)).reshape(-1, self._half, 2)
        return Weight(weight.data[rows.swapaxes(1, 2).reshape(-1)], weight.kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)


def _check_kind(path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Weight]) -> None:
    """Refuse another architecture, and whatever would make this one compute something else."""
    architecture = metadata.get("general.architecture")
    if architecture not in ARCHITECTURES:
        raise ModelError(
            f"{path}: general.architecture is {architecture!r}. This engine runs GGUF files of "
            f"{' and '.join(ARCHITECTURES)} models, such as Qwen2.5-0.5B-Instruct or "
            "SmolLM2-135M-Instruct."
        )
    prefix = f"{architecture}."
    wrong = [
        f"{key} is {value!r}"
        for key, value in metadata.items()
        if key.startswith(prefix) and not _is_plain(key.removeprefix(prefix), value)
    ]
    if ROPE_FACTORS in tensors:
        wrong.append(f"the tensor {ROPE_FACTORS} scales the rotary frequencies")
    if wrong:
        raise ModelError(
            f"{path}: {'; '.join(wrong)}. This engine runs plain decoders only: no scaled rotary "
            "positions, no sliding window, no experts. Use a model without them."
        )


def _is_plain(key: str, value: Any) -> bool:
    if key.startswith("rope.scaling."):
        return value in PLAIN_ROPE_SCALING
    return key not in PLAIN or value in PLAIN[key]


def _read_config(metadata: Mapping[str, Any], tensors: Mapping[str, Weight]) -> ModelConfig:
    architecture = metadata["general.architecture"]

    def number(name: str, default: float | None = None) -> Any:
        key = f"{architecture}.{name}"
        value = metadata[key] if default is None else metadata.get(key, default)
        if not isinstance(value, int | float):
            raise TypeError(f"{key} is no number")
        return value

    heads = int(number("attention.head_count"))
    hidden = int(number("embedding_length"))
    head_dim = int(number("attention.key_length", hidden // max(heads, 1)))
    for name in ("attention.value_length", "rope.dimension_count"):
        if number(name, head_dim) != head_dim:
            raise ModelError(
                f"{architecture}.{name} is {number(name)}, the width of a head {head_dim}. This "
                "engine runs models where both are equal."
            )
    return ModelConfig(
        layers=int(number("block_count")),
        hidden=hidden,
        heads=heads,
        kv_heads=int(number("attention.head_count_kv", heads)),
        head_dim=head_dim,
        ffn=int(number("feed_forward_length")),
        vocab=weight_shape(tensors[EMBEDDING])[0],
        window=int(number("context_length")),
        rope_theta=float(number("rope.freq_base", ROPE_THETA)),
        eps=float(number("attention.layer_norm_rms_epsilon")),
        architecture=architecture,
    )


def _read_tokenizer(path: Path, metadata: Mapping[str, Any]) -> TokenizerFiles:
    kind = metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise ModelError(
            f"{path}: tokenizer.ggml.model is {kind!r}. This engine builds tokenizers of kind "
            "'gpt2' (byte-level BPE), as Qwen2.5 and SmolLM2 have."
        )
    template = metadata.get("tokenizer.chat_template")
    if not template:
        raise ModelError(f"{path}: it has no chat template. Use an instruct model.")
    tokens = metadata["tokenizer.ggml.tokens"]
    types = metadata["tokenizer.ggml.token_type"]
    pre = metadata.get("tokenizer.ggml.pre", "default")
    named = {
        f"{name}_token": tokens[id_]
        for name in ("bos", "eos")
        if (id_ := metadata.get(f"tokenizer.ggml.{name}_token_id")) in range(len(tokens))
    }
    if metadata.get("tokenizer.ggml.add_bos_token") and "bos_token" not in template:
        raise ModelError(
            f"{path}: tokenizer.ggml.add_bos_token asks for a start token that the chat template "
            "does not place, and runtimes disagree on what that means. Use a file without it."
        )
    try:
        text = tokenizer_json(tokens, types, merges=metadata["tokenizer.ggml.merges"], pre=pre)
        template = name_special_tokens(template, named)
    except ModelError as error:
        raise type(error)(f"{path}: {error}") from error
    return TokenizerFiles(text, template, _stop_ids(path, metadata, tokens=tokens))


def _stop_ids(path: Path, metadata: Mapping[str, Any], *, tokens: Sequence[str]) -> tuple[int, ...]:
    """Collect the ids that end an answer: those stated, and control tokens known to."""
    types = metadata["tokenizer.ggml.token_type"]
    ends = [metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot")]
    ends += [
        id_
        for id_, (token, type_) in enumerate(zip(tokens, types, strict=True))
        if type_ == CONTROL and token in END_TOKENS
    ]
    ids = tuple(dict.fromkeys(id_ for id_ in ends if id_ is not None))
    if not ids:
        raise ModelError(
            f"{path}: nothing says which token ends an answer (tokenizer.ggml.eos_token_id)."
        )
    return ids
