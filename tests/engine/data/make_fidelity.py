"""Make fidelity/: fix its texts by hash, then score them with torch float32.

Run from the repository's root, in this order. The first step needs pytest_ctxguard and writes
``texts.json``, which is committed before anything is scored::

    python -m tests.engine.data.make_fidelity fix

The second runs outside the suite, in an environment of its own, where nothing of pytest_ctxguard
is used: transformers reads the GGUF, dequantises its weights to float32 (checked against gguf's
own dequantisation), builds the tokenizer and takes the chat template from the file; the ids it
gives must have the hashes of ``texts.json``. FOLDER receives all logits in full, 4 GB a type::

    pip install torch==2.13.0+cpu transformers==5.24.0 gguf==0.19.0 accelerate
    python -m tests.engine.data.make_fidelity score MODEL.gguf FOLDER float32
    python -m tests.engine.data.make_fidelity answer MODEL.gguf FOLDER float32

float32 gives the reference; the same with bfloat16 gives a yardstick. The third step needs numpy
alone and writes ``reference.npz`` and ``reference.json``: of each position the likeliest ids with
their log-probabilities and the mass of all others as one bucket, and the answers. The fourth adds
to ``reference.json`` what bfloat16 scores, with the divergence in full beside the truncated one::

    python -m tests.engine.data.make_fidelity pack FOLDER
    python -m tests.engine.data.make_fidelity compare FOLDER
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import fidelity as scoring
from tests.engine.data.fidelity.haystacks import haystacks
from tests.engine.data.fidelity.registers import needles

HERE = Path(__file__).parent
FOLDER = HERE / "fidelity"
TEXTS, REFERENCE = FOLDER / "texts.json", FOLDER / "reference.json"
WINDOW = 256  # positions scored at the middle and at the end of a long context
PART = 512  # tokens per call of torch
ANSWER_TOKENS = 24
END_IDS = (151643, 151645)


def written() -> dict[str, str]:
    """Return the short texts by name."""
    return {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("texts/*.txt"))}


def digest(data: str | list[int]) -> str:
    """Return the sha256 of a text's UTF-8, or of ids as 32-bit little-endian integers."""
    raw = data.encode() if isinstance(data, str) else np.asarray(data, "<u4").tobytes()
    return hashlib.sha256(raw).hexdigest()


def fix(encode: Any, encode_messages: Any) -> list[dict[str, Any]]:
    """Return what ``texts.json`` says of each text: kind, length, scored windows, hashes."""
    entries = []

    def add(name: str, kind: str, text: str, ids: list[int], windows: list[list[int]]) -> None:
        hashes = {"text_sha256": digest(text), "ids_sha256": digest(ids)}
        entries.append(
            {"name": name, "kind": kind, "tokens": len(ids), "windows": windows, **hashes}
        )

    for name, text in written().items():
        ids = encode(text)
        add(name, "short", text, ids, [[0, len(ids)]])
    for name, (text, middle) in haystacks().items():
        ids, end = encode(text), len(encode(text[:middle]))
        add(name, "long", text, ids, [[end - WINDOW, end], [len(ids) - WINDOW, len(ids)]])
    for name, messages in needles().items():
        add(name, "needle", messages[0]["content"], encode_messages(messages), [])
    return entries


def load(gguf: Path, dtype: str) -> tuple[Any, dict[str, list[int]]]:
    """Return torch's model in one type, and the ids of every text, both checked."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tests.engine.data.fidelity.torch_model import check_weights

    ids = torch_ids(AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name))
    for entry in manifest():
        if digest(ids[entry["name"]]) != entry["ids_sha256"]:
            raise SystemExit(f"{entry['name']}: transformers gives other ids than texts.json")
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=getattr(torch, dtype), attn_implementation="eager"
    )
    if {parameter.dtype for parameter in model.parameters()} != {getattr(torch, dtype)}:
        raise SystemExit(f"transformers keeps weights of other types than {dtype}")
    if dtype == "float32":
        check_weights(model, gguf)
    return model, ids


def score(gguf: Path, folder: Path, dtype: str) -> None:
    """Save the logits of every scored position; those saved by a run cut short are kept."""
    from tests.engine.data.fidelity.torch_model import logits

    model, ids = load(gguf, dtype)
    for entry in manifest("short", "long"):
        path = folder / f"{dtype}-{entry['name']}.npy"
        if not path.exists():
            tell(f"{dtype} {entry['name']} {entry['tokens']}")
            found = logits(model, ids[entry["name"]], windows=entry["windows"], part=PART)
            np.save(path, found)


def answer(gguf: Path, folder: Path, dtype: str) -> None:
    """Save the greedy answers to the needle prompts, and the ids of every text."""
    from tests.engine.data.fidelity.torch_model import greedy

    model, ids = load(gguf, dtype)
    answers = {}
    for entry in manifest("needle"):
        name = entry["name"]
        answers[name] = greedy(model, ids[name], limit=ANSWER_TOKENS, end_ids=END_IDS)
        tell(f"{dtype} {name} {entry['tokens']} {answers[name]}")
    np.save(folder / "ids.npy", np.concatenate([ids[entry["name"]] for entry in manifest()]))
    packages = {name: version(name) for name in ("torch", "transformers", "gguf", "tokenizers")}
    with gguf.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    made = {"gguf_sha256": sha256, "packages": packages, "answers": answers}
    (folder / f"{dtype}.json").write_text(json.dumps(made), encoding="utf-8")


def manifest(*kinds: str) -> list[dict[str, Any]]:
    """Return the entries of ``texts.json``, of some kinds or all."""
    entries = json.loads(TEXTS.read_text("utf-8"))["texts"]
    return [entry for entry in entries if not kinds or entry["kind"] in kinds]


def torch_ids(tokenizer: Any) -> dict[str, list[int]]:
    """Return the ids of every text as transformers encodes it."""
    texts = written() | {name: text for name, (text, _) in haystacks().items()}
    for name, messages in needles().items():
        texts[name] = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
    return {
        name: tokenizer(text, add_special_tokens=False)["input_ids"] for name, text in texts.items()
    }


def pack(folder: Path) -> None:
    """Write the committed reference from the full logits and answers of float32."""
    made = json.loads((folder / "float32.json").read_text("utf-8"))
    kept = []
    for entry in manifest("short", "long"):
        tell(entry["name"])
        exact = np.load(folder / f"float32-{entry['name']}.npy")
        kept.append(scoring.truncate(exact, keep=scoring.KEPT))
    np.savez_compressed(
        FOLDER / "reference.npz",
        ids=np.load(folder / "ids.npy").astype(np.uint32),
        top=np.concatenate([part.top for part in kept]).astype(np.uint32),
        top_log=np.concatenate([part.top_log for part in kept]).astype(np.float16),
        rest_log=np.concatenate([part.rest_log for part in kept]).astype(np.float16),
    )
    needles = [{"name": name, **said} for name, said in made["answers"].items()]
    head = {key: made[key] for key in ("gguf_sha256", "packages")}
    write(head | {"kept": scoring.KEPT, "needles": needles})


def compare(folder: Path) -> None:
    """Add to ``reference.json`` what bfloat16 scores, over the stored ids and over all."""
    other = json.loads((folder / "bfloat16.json").read_text("utf-8"))["answers"]
    texts = scoring.read()
    yardstick: dict[str, Any] = {}
    for kind in ("short", "long"):
        scores, full = [], []
        for text in (text for text in texts if text.kind == kind):
            tell(text.name)
            exact, rough = (
                np.load(folder / f"{dtype}-{text.name}.npy") for dtype in ("float32", "bfloat16")
            )
            scores.append(scoring.score(text.part, rough))
            full.append(scoring.full_divergence(exact, rough))
        whole = np.concatenate(full)
        yardstick[kind] = scoring.summary(scores)
        yardstick[kind]["full_kl_mean"] = float(whole.mean())
        yardstick[kind]["full_kl_p99"] = float(np.quantile(whole, 0.99))
    asked = [text for text in texts if text.kind == "needle"]
    equal = sum(tuple(other[text.name]["answer"]) == text.answer for text in asked)
    yardstick["needles"] = {"equal": equal, "of": len(asked)}
    write(json.loads(REFERENCE.read_text("utf-8")) | {"bfloat16": yardstick})


def write(reference: dict[str, Any]) -> None:
    """Write ``reference.json``, one needle a line."""
    head = json.dumps(
        {key: value for key, value in reference.items() if key != "needles"}, indent=1
    )
    lines = ",\n".join(json.dumps(needle) for needle in reference["needles"])
    REFERENCE.write_text(f'{head[:-2]},\n "needles": [\n{lines}\n]}}\n', encoding="utf-8")


def tell(line: str) -> None:
    """Say how far the work is."""
    sys.stderr.write(line + "\n")


def main(command: str, *arguments: str) -> None:
    """Run one step."""
    if command == "fix":
        from pytest_ctxguard.tokens.request import RequestEncoder

        encoder = RequestEncoder()
        entries = fix(encoder.encode_text, encoder.encode)
        lines = ",\n".join(json.dumps(entry) for entry in entries)
        TEXTS.write_text(f'{{"texts": [\n{lines}\n]}}\n', encoding="utf-8")
    elif command in ("pack", "compare"):
        {"pack": pack, "compare": compare}[command](Path(arguments[0]))
    else:
        gguf, folder, dtype = arguments
        {"score": score, "answer": answer}[command](Path(gguf).resolve(), Path(folder), dtype)


if __name__ == "__main__":
    main(*sys.argv[1:])
