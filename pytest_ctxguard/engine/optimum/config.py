"""Read a model's shape and stop ids from the JSON files beside a graph on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_ctxguard.engine.checkpoints.config import ModelConfig
from pytest_ctxguard.engine.checkpoints.hub_tokenizer import read_json
from pytest_ctxguard.engine.optimum.discovery import OptimumIO
from pytest_ctxguard.errors import ModelError

CONFIG, GENERATION = "config.json", "generation_config.json"
ROPE_THETA, EPS = 10_000.0, 1e-6  # Hugging Face's defaults; the graph has its own within


def read_config(graph: Path, *, folder: Path, io: OptimumIO) -> tuple[ModelConfig, tuple[int, ...]]:
    """Return the model's shape and the ids that end an answer, which may be none.

    The files are looked for in ``folder``, then beside the graph. Layers, key heads and the
    logits' width are the graph's own; the ids are those of both files.

    Raises:
        ModelError: a file is missing or broken, or it describes another model than the graph.
    """
    places = [place / CONFIG for place in dict.fromkeys((folder, graph.parent))]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise ModelError(
            f"{graph}: no config.json, which states the context window; looked for "
            f"{' and '.join(map(str, places))}. Copy it from where the graph came from."
        )
    data = read_json(path)
    generation_path = path.with_name(GENERATION)
    generation = read_json(generation_path) if generation_path.is_file() else {}
    try:
        ids = [*_ids(generation.get("eos_token_id")), *_ids(data.get("eos_token_id"))]
        return _config(data, io), tuple(dict.fromkeys(ids))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(
            f"{path}: cannot be used for {graph.name} ({type(error).__name__}: {error}). "
            "Take the config.json and generation_config.json that belong to the graph."
        ) from error


def _config(data: Mapping[str, Any], io: OptimumIO) -> ModelConfig:
    """Fill the shape; raises KeyError, TypeError, ValueError or AttributeError."""
    layers = len(io.pasts) // 2
    if int(data["num_hidden_layers"]) != layers:
        raise ValueError(
            f"num_hidden_layers is {data['num_hidden_layers']}, but the graph has {layers} layers"
        )
    rope = data.get("rope_parameters") or {}  # where transformers 5 writes rope_theta
    return ModelConfig(
        layers=layers,
        hidden=int(data["hidden_size"]),
        heads=int(data["num_attention_heads"]),
        kv_heads=io.pasts[0].heads,
        head_dim=io.pasts[0].width,
        ffn=int(data["intermediate_size"]),
        vocab=io.vocab or int(data["vocab_size"]),
        window=int(data["max_position_embeddings"]),
        rope_theta=float(data.get("rope_theta") or rope.get("rope_theta") or ROPE_THETA),
        eps=float(data.get("rms_norm_eps") or EPS),
        architecture=str(data["model_type"]),
    )


def _ids(stated: Any) -> list[int]:
    """Return the ids of an ``eos_token_id``: none, one or several."""
    if stated is None:
        return []
    return [int(each) for each in (stated if isinstance(stated, list) else [stated])]
