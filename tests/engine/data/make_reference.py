"""Write reference.json: what torch float32 answers, for the engine to equal token for token.

Runs outside the suite, in an environment of its own, and needs the assembled GGUF (``model.gguf``
in the cache folder after ``pytest-ctxguard fetch``)::

    pip install torch==2.13.0+cpu transformers==5.24.0 gguf==0.19.0 accelerate
    python tests/engine/data/make_reference.py MODEL.gguf

Nothing of pytest_ctxguard is used. transformers reads the GGUF: it dequantises the weights to
float32 (checked here against gguf's own dequantisation), builds the tokenizer and takes the chat
template from the file. For each request of prompts.py the file holds the rendered prompt, its
ids, and the greedy answer of at most 32 tokens, the end token not counted. For each step, the end
included, it also holds the second-best token and the ``margins``: how many logits it is behind.
Tool-call arguments are parsed to objects before rendering, as servers do. No request was dropped
or reworded because of how an engine answered it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from prompts import requests
from transformers import AutoModelForCausalLM, AutoTokenizer

ANSWER_TOKENS = 32
END_IDS = (151643, 151645)
CHECKED = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "blk.0.attn_v.weight": "model.layers.0.self_attn.v_proj.weight",
    "blk.0.ffn_down.weight": "model.layers.0.mlp.down_proj.weight",
    "blk.23.ffn_down.weight": "model.layers.23.mlp.down_proj.weight",
    "blk.23.attn_q.weight": "model.layers.23.self_attn.q_proj.weight",
}


def check_weights(model: Any, path: Path) -> None:
    """Stop unless the model's weights are gguf's dequantised ones, bit for bit."""
    held = dict(model.named_parameters())
    for tensor in GGUFReader(path).tensors:
        if tensor.name in CHECKED:
            wanted = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
            if not torch.equal(held[CHECKED[tensor.name]].data, wanted):
                raise SystemExit(f"{tensor.name} differs from gguf's dequantisation")


def for_template(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its tool-call arguments as objects."""
    calls = [
        {"type": "function", "function": {**f, "arguments": json.loads(f["arguments"])}}
        for f in (call["function"] for call in message.get("tool_calls", ()))
    ]
    return {**message, "tool_calls": calls} if calls else message


@torch.inference_mode()
def answer(model: Any, ids: list[int]) -> dict[str, list[Any]]:
    """Return the greedy answer, and of each step the second-best token and its margin."""
    cache, step = None, torch.tensor([ids])
    tokens, seconds, margins = [], [], []
    while len(tokens) < ANSWER_TOKENS:
        result = model(step, cache=cache, use_cache=True, logits_to_keep=1)
        cache = result.cache
        best = result.logits[0, -1].topk(2)
        token, second = best.indices.tolist()
        seconds.append(second)
        margins.append(round(float(best.values[0] - best.values[1]), 5))
        if token in END_IDS:
            break
        tokens.append(token)
        step = torch.tensor([[token]])
    return {"answer": tokens, "second": seconds, "margins": margins}


def main(path: Path) -> None:
    """Answer every request and write the file beside this script."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    )
    check_weights(model, path)
    entries = []
    for request in requests():
        text = tokenizer.apply_chat_template(
            [for_template(message) for message in request["messages"]],
            tools=request["tools"] or None,
            add_generation_prompt=True,
            tokenize=False,
        )
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        entry = {**request, "text": text, "ids": ids, **answer(model, ids)}
        entries.append(entry)
        words = tokenizer.decode(entry["answer"])
        line = f"{request['name']:24} {len(ids):5} {min(entry['margins']):8.4f} {words!r}\n"
        sys.stdout.write(line)
        sys.stdout.flush()
    packages = {name: version(name) for name in ("torch", "transformers", "gguf", "tokenizers")}
    head = {"gguf_sha256": digest, "packages": packages, "threads": torch.get_num_threads()}
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    body = json.dumps(head)[:-1] + f', "prompts": [\n{lines}\n]}}\n'
    Path(__file__).with_name("reference.json").write_text(body, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
