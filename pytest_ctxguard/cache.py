"""Where this package keeps what is dear to make again, and how it writes there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """Return the cache folder: ``CTXGUARD_CACHE``, else the platform's own."""
    override = os.environ.get("CTXGUARD_CACHE")
    if override:
        return Path(override)
    import platformdirs

    return platformdirs.user_cache_path("pytest-ctxguard")


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary neighbour of ``path``, then move it into place.

    A reader sees the old file or the new one, never half of one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)  # mkstemp's 0600 would hide a committed file from other users
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
