"""Turn a checkpoint into the engine's own graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_ctxguard.engine.checkpoints.checkpoint import Checkpoint
from pytest_ctxguard.engine.export.graph import export
from pytest_ctxguard.engine.numerics import weights_form
from pytest_ctxguard.tokens.model_encoder import ModelEncoder
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find

CALIBRATED_ON = ("incident-40", "agentic-docs")
"""Built-in transcripts that show which channels are large: a log-reading agent in English with
tools and JSON, and a reader of documents in Russian and English."""
STARTS = (0, 2000, 4000)  # where in each of them, in tokens
LENGTH = 512


def convert(
    checkpoint: Checkpoint, folder: Path, *, progress: Callable[[int], None] = lambda layers: None
) -> None:
    """Write the graph and its data into an existing folder; ``progress`` is told layers done."""
    export(
        checkpoint.config,
        checkpoint.weights,
        folder=folder,
        sequences=calibration_ids(checkpoint),
        unsigned=weights_form() == "u8",
        progress=progress,
    )


def calibration_ids(checkpoint: Checkpoint) -> list[list[int]]:
    """Return token sequences of at most 512 ids from the built-in transcripts."""
    own = checkpoint.tokenizer
    encoder = RequestEncoder() if own is None else ModelEncoder(own, name="calibration")
    sequences = []
    for name in CALIBRATED_ON:
        ids = encoder.encode(find(name).messages)
        sequences += [ids[start : start + LENGTH] for start in STARTS if start < len(ids)]
    return sequences
