"""Read a decoder and its tokenizer from a folder in the hub's layout, with safetensors weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_ctxguard.engine.checkpoints.config import LLAMA, QWEN2, ModelConfig
from pytest_ctxguard.engine.checkpoints.hub_tokenizer import read_json, read_tokenizer
from pytest_ctxguard.engine.checkpoints.layout import (
    HEAD,
    REMEDY,
    ModelParts,
    check_config,
    check_weights,
)
from pytest_ctxguard.engine.checkpoints.safetensors import open_safetensors
from pytest_ctxguard.engine.checkpoints.weights import Weight
from pytest_ctxguard.errors import ModelCorrupt, ModelError

CONFIG = "config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
ARCHITECTURES = {"Qwen2ForCausalLM": QWEN2, "LlamaForCausalLM": LLAMA}

# Defaults of the Hugging Face configuration classes, for keys a file leaves out.
ROPE_THETA, EPS = 10_000.0, 1e-6

# Keys that change what a decoder computes, and the values that leave it plain.
PLAIN: dict[str, tuple[Any, ...]] = {
    "use_sliding_window": (False, None),
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "hidden_act": ("silu",),
    "partial_rotary_factor": (1.0, None),
    "quantization_config": (None,),
    "num_experts": (0, None),
}
PLAIN_ROPE = ("default", None)

OUTER = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": HEAD,
}
INNER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)")
UNUSED = re.compile(r".*\.rotary_emb\.inv_freq")  # a table that old files carry along


def is_hub_folder(folder: Path) -> bool:
    """Tell whether a folder looks like the hub's layout."""
    return (folder / CONFIG).is_file()


def read_hub_folder(folder: Path) -> ModelParts:
    """Read configuration, tensors (views of the mapped files) and tokenizer.

    Raises:
        ModelCorrupt: a file is broken, cut short or missing.
        ModelError: it holds a model this engine cannot run.
    """
    data = read_json(folder / CONFIG)
    _check_kind(folder / CONFIG, data)
    try:
        config = _read_config(data)
    except KeyError as error:
        raise ModelCorrupt(f"{folder / CONFIG}: {error} is missing. {REMEDY}") from error
    except (TypeError, ValueError) as error:
        raise ModelCorrupt(
            f"{folder / CONFIG}: a value has the wrong type ({error}). {REMEDY}"
        ) from error
    check_config(folder / CONFIG, config)
    weights = _read_weights(folder)
    tied = bool(data.get("tie_word_embeddings", False))
    if tied:
        weights.pop(HEAD, None)  # some files store the embedding twice
    check_weights(folder, config, weights, tied=tied)
    return ModelParts(config, weights, read_tokenizer(folder, data, vocab=config.vocab))


def _check_kind(path: Path, data: Mapping[str, Any]) -> None:
    """Refuse another architecture, and whatever would make this one compute something else."""
    found = data.get("architectures")
    if not isinstance(found, list) or len(found) != 1 or found[0] not in ARCHITECTURES:
        raise ModelError(
            f"{path}: architectures is {found!r}. This engine runs "
            f"{' and '.join(ARCHITECTURES)}, such as Qwen2.5-0.5B-Instruct or "
            "SmolLM2-135M-Instruct."
        )
    wrong = [
        f"{key} is {data[key]!r}"
        for key, plain in PLAIN.items()
        if key in data and data[key] not in plain
    ]
    for key in ("rope_scaling", "rope_parameters"):
        rope = data.get(key) or {}
        if not isinstance(rope, dict) or not {*_rope_types(rope)} <= {*PLAIN_ROPE}:
            wrong.append(f"{key} is {rope!r}")
    if "sliding_attention" in (data.get("layer_types") or ()):
        wrong.append("layer_types has sliding_attention")
    if wrong:
        raise ModelError(
            f"{path}: {'; '.join(wrong)}. This engine runs plain decoders only: no scaled rotary "
            "positions, no sliding window, no experts, no quantised safetensors. Use a model "
            "without them."
        )


def _rope_types(rope: Mapping[str, Any]) -> tuple[Any, Any]:
    return rope.get("rope_type"), rope.get("type")


def _read_config(data: Mapping[str, Any]) -> ModelConfig:
    heads, hidden = int(data["num_attention_heads"]), int(data["hidden_size"])
    rope = data.get("rope_parameters") or {}
    return ModelConfig(
        layers=int(data["num_hidden_layers"]),
        hidden=hidden,
        heads=heads,
        kv_heads=int(data.get("num_key_value_heads") or heads),
        head_dim=int(data.get("head_dim") or hidden // max(heads, 1)),
        ffn=int(data["intermediate_size"]),
        vocab=int(data["vocab_size"]),
        window=int(data["max_position_embeddings"]),
        rope_theta=float(data.get("rope_theta") or rope.get("rope_theta") or ROPE_THETA),
        eps=float(data.get("rms_norm_eps") or EPS),
        architecture=ARCHITECTURES[data["architectures"][0]],
    )


def _read_weights(folder: Path) -> dict[str, Weight]:
    """Return the tensors of all shards under their GGUF names."""
    found: dict[str, Weight] = {}
    for path in _shards(folder):
        for name, weight in open_safetensors(path).items():
            if UNUSED.fullmatch(name):
                continue
            if gguf_name(name) in found:
                raise ModelCorrupt(f"{path}: the tensor {name} is in another file too. {REMEDY}")
            found[gguf_name(name)] = weight
    return found


def _shards(folder: Path) -> list[Path]:
    single = folder / WEIGHTS
    if single.is_file():
        return [single]
    if not (folder / INDEX).is_file():
        raise ModelCorrupt(
            f"{folder}: there is neither {WEIGHTS} nor {INDEX}. Download the model's safetensors "
            "files beside its config.json."
        )
    names = read_json(folder / INDEX).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(n, str) for n in names.values()):
        raise ModelCorrupt(f"{folder / INDEX}: it has no weight_map of file names. {REMEDY}")
    shards = sorted(set(names.values()))
    for name in shards:
        if Path(name).name != name:
            raise ModelCorrupt(f"{folder / INDEX}: {name!r} is no plain file name. {REMEDY}")
        if not (folder / name).is_file():
            raise ModelCorrupt(
                f"{folder / name}: this shard is missing; {INDEX} names {len(shards)}. Download "
                "it again."
            )
    return [folder / name for name in shards]


def gguf_name(name: str) -> str:
    """Translate a tensor's Hugging Face name; one without a translation stays as it is."""
    layer = LAYER.fullmatch(name)
    if layer is None or layer[2] not in INNER:
        return OUTER.get(name, name)
    return f"blk.{layer[1]}.{INNER[layer[2]]}.{layer[3]}"
