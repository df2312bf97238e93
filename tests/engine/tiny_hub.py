"""Tiny random models as folders in the hub's layout, for what starts from one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from pytest_ctxguard.engine.checkpoints.config import QWEN2, ModelConfig
from tests.engine.tiny import TINY
from tests.engine.tiny_gguf import tiny_floats
from tests.tokens import tiny_vocabulary

DTYPES: dict[str, Any] = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}
NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip


def hub_name(name: str) -> str:
    """Translate a GGUF tensor name."""
    *block, module, part = name.split(".")
    prefix = f"model.layers.{block[1]}." if block else ""
    return f"{prefix}{NAMES[module]}.{part}"


def config_json(config: ModelConfig, *, tied: bool) -> dict[str, Any]:
    """Return what ``config.json`` says of a tiny model."""
    qwen = config.architecture == QWEN2
    return {
        "architectures": ["Qwen2ForCausalLM" if qwen else "LlamaForCausalLM"],
        "num_hidden_layers": config.layers,
        "hidden_size": config.hidden,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.ffn,
        "vocab_size": config.vocab,
        "max_position_embeddings": config.window,
        "rope_theta": config.rope_theta,
        "rms_norm_eps": config.eps,
        "hidden_act": "silu",
        "tie_word_embeddings": tied,
        "eos_token_id": tiny_vocabulary.ID["<|im_end|>"],
    }


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_tiny_hub(
    folder: Path,
    *,
    config: ModelConfig = TINY,
    seed: int = 0,
    tied: bool = True,
    dtype: str = "F32",
    shards: int = 1,
    changes: Mapping[str, Any] | None = None,
    tensors: Mapping[str, NDArray[Any] | None] | None = None,
) -> Path:
    """Write a tiny model into ``folder`` and return it.

    ``changes`` of ``config.json`` and ``tensors`` (hub names) replace or add; None leaves out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**config_json(config, tied=tied), **(changes or {})}
    write_json(folder / "config.json", {k: v for k, v in settings.items() if v is not None})
    floats = tiny_floats(config, seed=seed, tied=tied)
    named = {hub_name(name): values.astype(DTYPES[dtype]) for name, values in floats.items()}
    kept = {k: v for k, v in {**named, **(tensors or {})}.items() if v is not None}
    if shards == 1:
        save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    else:
        files = [f"model-{n + 1:05}-of-{shards:05}.safetensors" for n in range(shards)]
        places = {name: files[number % shards] for number, name in enumerate(kept)}
        for file in files:
            save_file({n: kept[n] for n, place in places.items() if place == file}, folder / file)
        write_json(folder / "model.safetensors.index.json", {"weight_map": places})
    (folder / "tokenizer.json").write_text(tiny_vocabulary.tiny_json(), encoding="utf-8")
    write_json(
        folder / "tokenizer_config.json",
        {"chat_template": tiny_vocabulary.TEMPLATE, "eos_token": "<|im_end|>", "bos_token": None},
    )
    write_json(folder / "generation_config.json", {"eos_token_id": list(tiny_vocabulary.STOPS)})
    return folder
