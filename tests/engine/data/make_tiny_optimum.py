"""Make ``tiny-optimum/``: a random Qwen2 exported by optimum, with PyTorch's own logits for it.

Not part of the suite. Run it from the repository's root in an environment of its own::

    pip install torch==2.13.0 "optimum-onnx[onnxruntime]==0.1.0" transformers==4.57.6
    python tests/engine/data/make_tiny_optimum.py

The folder has the layout of a model on the hub: ``config.json`` and ``generation_config.json`` on
top, the graph in ``onnx/``. ``reference.npz`` holds ``ids`` [tokens] and ``logits`` [tokens, vocab]
of PyTorch in float32 on the same weights; ``made_with.json`` the versions and the size of the
differences seen when it was made.
"""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from optimum.exporters.onnx import main_export
from transformers import GenerationConfig, Qwen2Config, Qwen2ForCausalLM

FOLDER = Path(__file__).parent / "tiny-optimum"
PACKAGES = ("optimum", "optimum-onnx", "transformers", "torch", "onnx", "onnxruntime", "numpy")
SEED = 20260
TOKENS = 48


def random_model() -> Qwen2ForCausalLM:
    """Draw a model whose every weight matters, also the biases and norms."""
    torch.manual_seed(SEED)
    config = Qwen2Config(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        rope_theta=10_000.0,
        initializer_range=0.25,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=299,
        use_cache=True,
    )
    model = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3)
            elif "norm" in name:
                parameter.normal_(mean=1.0, std=0.2)
    model.generation_config = GenerationConfig(eos_token_id=[299, 298], pad_token_id=298)
    return model


def graph_logits(graph: Path, ids: np.ndarray) -> np.ndarray:
    """Run the whole prompt through the graph in one call, without this project's code."""
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    feeds = {"input_ids": ids[None], "attention_mask": np.ones((1, len(ids)), np.int64)}
    feeds["position_ids"] = np.arange(len(ids))[None]
    for tensor in session.get_inputs():
        if tensor.name.startswith("past_key_values."):
            _, heads, _, width = tensor.shape
            feeds[tensor.name] = np.zeros((1, heads, 0, width), np.float32)
    return session.run(["logits"], feeds)[0][0]


def main() -> None:
    """Write the folder anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "onnx").mkdir(parents=True)
    model = random_model()
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "source", Path(scratch) / "target"
        model.save_pretrained(source)
        main_export(str(source), target, task="text-generation-with-past", do_validation=True)
        for name in ("config.json", "generation_config.json"):
            shutil.copyfile(target / name, FOLDER / name)
        shutil.copyfile(target / "model.onnx", FOLDER / "onnx" / "model.onnx")
    ids = np.random.default_rng(SEED).integers(0, 300, TOKENS)
    with torch.no_grad():
        logits = model(torch.from_numpy(ids)[None]).logits[0].numpy()
    np.savez_compressed(FOLDER / "reference.npz", ids=ids, logits=logits)
    found = graph_logits(FOLDER / "onnx" / "model.onnx", ids)
    made = {name: version(name) for name in PACKAGES}
    made["python"] = platform.python_version()
    facts = {
        "script": Path(__file__).name,
        "licence": "MIT; random weights",
        "versions": made,
        "largest_difference_graph_torch": float(np.abs(found - logits).max()),
        "logits_standard_deviation": float(logits.std()),
    }
    text = json.dumps(facts, indent=2) + "\n"
    (FOLDER / "made_with.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
