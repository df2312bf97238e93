"""What make_fidelity.py asks of torch: check weights, logits of windows, greedy answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray

CHECKED = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "blk.0.attn_k.weight": "model.layers.0.self_attn.k_proj.weight",
    "blk.0.attn_q.bias": "model.layers.0.self_attn.q_proj.bias",
    "blk.11.ffn_up.weight": "model.layers.11.mlp.up_proj.weight",
    "blk.23.ffn_down.weight": "model.layers.23.mlp.down_proj.weight",
    "output_norm.weight": "model.norm.weight",
}


def check_weights(model: Any, path: Path) -> None:
    """Stop unless the model's weights are gguf's dequantised ones, bit for bit."""
    held = dict(model.named_parameters())
    found = 0
    for tensor in GGUFReader(path).tensors:
        if tensor.name in CHECKED:
            wanted = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
            mine = held[CHECKED[tensor.name]].data
            if not torch.equal(mine, wanted.reshape(mine.shape)):
                raise SystemExit(f"{tensor.name} differs from gguf's dequantisation")
            found += 1
    if found != len(CHECKED):
        raise SystemExit(f"{path} has {found} of the {len(CHECKED)} tensors to check")


@torch.inference_mode()
def logits(
    model: Any, ids: Sequence[int], *, windows: Sequence[Sequence[int]], part: int
) -> NDArray[np.float32]:
    """Return the logits at the positions of every window in turn, shape [positions, vocab]."""
    cache, found, start = None, [], 0
    edges = {edge for window in windows for edge in window}
    bounds = sorted({*range(part, len(ids), part), *edges, len(ids)} - {0})
    for end in bounds:
        wanted = any(low <= start and end <= high for low, high in windows)
        result = model(
            torch.tensor([ids[start:end]]),
            cache=cache,
            use_cache=True,
            logits_to_keep=end - start if wanted else 1,
        )
        cache, start = result.cache, end
        if wanted:
            found.append(result.logits[0].float().numpy())
    return np.concatenate(found)


@torch.inference_mode()
def greedy(
    model: Any, ids: Sequence[int], *, limit: int, end_ids: Collection[int]
) -> dict[str, list[Any]]:
    """Return the greedy answer without its end, and of each step second choice and margin."""
    cache, step = None, torch.tensor([ids])
    tokens: list[int] = []
    seconds, margins = [], []
    while len(tokens) < limit:
        result = model(step, cache=cache, use_cache=True, logits_to_keep=1)
        cache = result.cache
        best = result.logits[0, -1].float().topk(2)
        token, second = best.indices.tolist()
        seconds.append(second)
        margins.append(round(float(best.values[0] - best.values[1]), 5))
        if token in end_ids:
            break
        tokens.append(token)
        step = torch.tensor([[token]])
    return {"answer": tokens, "second": seconds, "margins": margins}
