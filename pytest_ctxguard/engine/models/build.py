"""Build a converted model in its entry of the cache: one process at a time, whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_ctxguard.engine.models.disk import GROWTH, check_room
from pytest_ctxguard.engine.models.fetch import Command, run_command
from pytest_ctxguard.engine.models.files import (
    RECIPE,
    TEMPLATE_FILE,
    TOKENIZER_FILE,
    ModelFiles,
    read_files,
    write_manifest,
)
from pytest_ctxguard.engine.models.supply import Supply, Weights
from pytest_ctxguard.progress import Progress, note

if TYPE_CHECKING:
    from pytest_ctxguard.engine.checkpoints.checkpoint import Checkpoint

BUILDING = "building-"  # begins the name of a folder that is not a model yet


class Convert(Protocol):
    """Writes graph and data of a checkpoint into a folder."""

    def __call__(
        self, checkpoint: Checkpoint, folder: Path, *, progress: Callable[[int], None]
    ) -> None:
        """Convert; ``progress`` is told how many of the layers and the head are done."""
        ...


def _read(path: Path) -> Checkpoint:
    from pytest_ctxguard.engine.checkpoints.checkpoint import read_checkpoint

    return read_checkpoint(path)


def _convert(checkpoint: Checkpoint, folder: Path, *, progress: Callable[[int], None]) -> None:
    from pytest_ctxguard.engine.export.convert import convert

    convert(checkpoint, folder, progress=progress)


def _weights_form() -> str:
    from pytest_ctxguard.engine.numerics import weights_form

    return weights_form()


@dataclass(frozen=True, slots=True)
class Tools:
    """What the store works with.

    Attributes:
        run: runs pip.
        read: reads a GGUF file or a safetensors folder.
        convert: writes graph and data.
        weights_form: says in which form ``convert`` writes weights on this machine.
    """

    run: Command = run_command
    read: Callable[[Path], Checkpoint] = _read
    convert: Convert = _convert
    weights_form: Callable[[], str] = _weights_form


TOOLS = Tools()


def converted(folder: Path) -> Path:
    """Return where an entry's converted model is, or will be."""
    return folder / f"onnx-r{RECIPE}"


@contextmanager
def locked(folder: Path, *, progress: Progress) -> Iterator[bool]:
    """Let one process at a time work in an entry, and clear away what a killed one left.

    Gives whether a conversion was cut short. The lock file lies beside the entry, so that the entry
    can be deleted under it.
    """
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(lock_file(folder))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        note(progress, "waiting for another process that prepares the model")
        lock.acquire()
    try:
        left = list(folder.glob(f"{BUILDING}*"))
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        yield bool(left)
    finally:
        lock.release()


def lock_file(folder: Path) -> Path:
    """Return the path of an entry's lock."""
    return folder.with_name(f"{folder.name}.lock")


def is_locked(folder: Path) -> bool:
    """Whether a process works in an entry now."""
    from filelock import FileLock, Timeout

    if not lock_file(folder).exists():
        return False
    lock = FileLock(lock_file(folder))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def build(supply: Supply, weights: Weights, *, tools: Tools, progress: Progress) -> ModelFiles:
    """Convert in a temporary folder and move it into place; other recipes' folders go.

    The caller holds the entry's lock.
    """
    folder, label = supply.folder, f"converting {supply.name}"
    check_room(folder, weights.size * GROWTH, purpose=label)
    progress(label, 0, 1)
    checkpoint = tools.read(weights.path)
    total = checkpoint.config.layers + 1
    with tempfile.TemporaryDirectory(dir=folder, prefix=BUILDING) as scratch:
        built = Path(scratch) / "model"
        built.mkdir()
        tools.convert(checkpoint, built, progress=lambda done: progress(label, done, total))
        write_manifest(
            built,
            checkpoint.config,
            name=supply.name,
            licence=supply.licence,
            source_sha256=weights.sha256,
            weights_form=tools.weights_form(),
            stop_ids=_write_tokenizer(checkpoint, built),
            repo=weights.repo,
            commit=weights.commit,
        )
        if converted(folder).exists():
            converted(folder).rename(Path(scratch) / "old")
        built.rename(converted(folder))
    for other in folder.glob("onnx-r*"):
        if other != converted(folder):
            shutil.rmtree(other)
    progress(label, total, total)
    return read_files(converted(folder))


def _write_tokenizer(checkpoint: Checkpoint, folder: Path) -> tuple[int, ...] | None:
    """Write a model's own tokenizer beside the graph and return its stop ids."""
    own = checkpoint.tokenizer
    if own is None:
        return None
    (folder / TOKENIZER_FILE).write_text(own.tokenizer_json, encoding="utf-8", newline="")
    (folder / TEMPLATE_FILE).write_text(own.chat_template, encoding="utf-8", newline="")
    return tuple(own.stop_ids)
