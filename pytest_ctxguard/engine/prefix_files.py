"""Keep the keys and values of long prompts on disk, so that the next run need not compute them.

One ``.npz`` file a prompt: ``ids`` int32 [tokens], and for each buffer of a slot its rows, float32
[kv_heads, tokens, head_dim]. A file is written under another name and renamed, so a run that is
killed leaves none half written; the archive's own checksums tell a damaged one, which is deleted.
The folder belongs to one model, recipe and kind of processor: others' rows are not bitwise these.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.engine.prefix import KEPT_BACK, shared_length

WORTH = 1024  # tokens; fewer are computed about as quickly as they are read
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True)
class Kept:
    """A prefix on disk.

    Attributes:
        path: its file.
        tokens: how many of a prompt's first tokens it covers.
    """

    path: Path
    tokens: int


class PrefixFiles:
    """A folder of prompts; those unused for longest are deleted first."""

    def __init__(self, folder: Path, *, budget: int) -> None:
        """Name the folder, which need not exist, and the bytes it may hold."""
        self._folder, self._budget = folder, budget
        self._ids: dict[Path, list[int]] = {}

    def longest(self, prompt: Sequence[int], *, beyond: int) -> Kept | None:
        """Find the longest kept prefix of a prompt, two of whose tokens are left to compute.

        None where it would not save ``WORTH`` tokens more than the first ``beyond``, which are in
        memory already.
        """
        limit, tokens = len(prompt) - KEPT_BACK, list(prompt)
        if limit < beyond + WORTH:
            return None
        found = [
            Kept(path, min(shared_length(self._read_ids(path), tokens), limit))
            for path in sorted(self._folder.glob("*.npz"))
        ]
        best = max(found, key=lambda kept: kept.tokens, default=None)
        return best if best is not None and best.tokens >= beyond + WORTH else None

    def load(self, kept: Kept, *, into: Sequence[NDArray[np.float32]]) -> bool:
        """Read rows into a slot's buffers [kv_heads, tokens, head_dim]; False where it failed.

        A damaged file is deleted; the buffers then hold nothing of worth.
        """
        try:
            with kept.path.open("rb") as file, np.load(file) as archive:
                for index, buffer in enumerate(into):
                    buffer[...] = archive[str(index)][:, : kept.tokens]
            kept.path.touch()
        except DAMAGE:
            kept.path.unlink(missing_ok=True)
            return False
        return True

    def keep(self, prompt: Sequence[int], rows: Sequence[NDArray[np.float32]]) -> None:
        """Write a prompt's rows, and delete what no longer fits; a full disk is no error."""
        ids = np.asarray(prompt, np.int32)
        path = self._folder / f"{hashlib.sha256(ids.tobytes()).hexdigest()[:32]}.npz"
        size = sum(buffer.nbytes for buffer in rows)
        if path.exists() or size > self._budget:
            return
        arrays: dict[str, NDArray[Any]] = {str(index): each for index, each in enumerate(rows)}

        def save(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez(file, allow_pickle=False, ids=ids, **arrays)

        with suppress(OSError):
            self._shrink(self._budget - size)
            write_atomically(path, save)

    def _shrink(self, size: int) -> None:
        """Delete the files unused for longest until no more than ``size`` bytes are held."""
        files = [(path.stat(), path) for path in self._folder.glob("*.npz*")]
        total = sum(stat.st_size for stat, _ in files)
        for stat, path in sorted(files, key=lambda each: each[0].st_mtime_ns):
            if total <= size:
                return
            total -= stat.st_size
            path.unlink(missing_ok=True)

    def _read_ids(self, path: Path) -> list[int]:
        if path not in self._ids:
            try:
                with path.open("rb") as file, np.load(file) as archive:
                    self._ids[path] = archive["ids"].tolist()
            except DAMAGE:
                path.unlink(missing_ok=True)
                return []
        return self._ids[path]
