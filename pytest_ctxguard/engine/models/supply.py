"""The seam between the model store and the places weights come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_ctxguard.engine.models.disk import Pin
from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.progress import Progress

ORIGIN_FILE = "origin.json"
"""In an entry: where its model came from, unless that is a source known by name."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's weights, whole and verified, before conversion.

    Attributes:
        path: a GGUF file, or a folder in the hub's safetensors layout.
        sha256: of the GGUF; of several files, over their sorted lines of name and hash.
        size: in bytes.
        repo: the hub repository they came from, else empty.
        commit: the commit of that repository.
    """

    path: Path
    sha256: str
    size: int
    repo: str = ""
    commit: str = ""


class Supply(Protocol):
    """One model's source and its entry in the cache; whoever changes it holds the entry's lock."""

    @property
    def name(self) -> str:
        """What users write."""
        ...

    @property
    def folder(self) -> Path:
        """The model's entry in the cache."""
        ...

    @property
    def licence(self) -> str:
        """Of the weights."""
        ...

    @property
    def missing(self) -> str:
        """Say that the weights are not here, and the remedy."""
        ...

    def present(self) -> bool:
        """Whether every file is here."""
        ...

    def obtain(self, *, progress: Progress) -> Weights | None:
        """Get what is missing and verify all; None: nothing needs converting, see ``export``.

        Raises:
            FetchError: no room, or the download failed.
            ModelCorrupt: bytes that are not the ones expected.
        """
        ...

    def export(self) -> ModelFiles | None:
        """Return an Optimum export whose files are here, sizes checked; None for anything else.

        Raises:
            ModelCorrupt: a file is cut short.
        """
        ...

    def expected(self) -> Mapping[str, Pin]:
        """Return the expected bytes of the source's files that the entry holds, by path in it."""
        ...
