"""What engines need and what this machine has left for them: memory, in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_ctxguard.errors import ModelError

AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)  # proc_meminfo(5)
UNUSED = re.compile(r"^inactive_file (\d+)$", re.MULTILINE)  # cgroup-v2: taken back when needed
ROOT = Path("/")


def available_memory(root: Path = ROOT) -> int | None:
    """Return how much memory this process and those it starts may take; None where nothing says.

    What Linux calls available, or what the limit of a container leaves (control groups, version
    2), if that is less. Other systems are not asked.

    Args:
        root: of the file system.
    """
    found = [*_available(root / "proc/meminfo"), *_left(root / "sys/fs/cgroup")]
    return min(found, default=None)


def _available(path: Path) -> Iterator[int]:
    match = AVAILABLE.search(_text(path))
    if match:
        yield int(match.group(1)) * 1024


def _left(folder: Path) -> Iterator[int]:
    """Yield what the limit leaves; outside a container there is none, or it is ``max``."""
    limit, used = (_text(folder / f"memory.{name}").strip() for name in ("max", "current"))
    if limit.isdecimal() and used.isdecimal():
        match = UNUSED.search(_text(folder / "memory.stat"))
        yield max(0, int(limit) - int(used) + (int(match.group(1)) if match else 0))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def engine_bytes(model: str | None) -> int | None:
    """Return how much memory an engine takes at most: its weights, and the prompts it keeps.

    None where nothing says: the model is missing or not converted yet, or is an Optimum export.

    Args:
        model: as ``store.resolve`` takes it.
    """
    from pytest_ctxguard.engine.models.build import converted
    from pytest_ctxguard.engine.models.disk import size_below
    from pytest_ctxguard.engine.models.store import find_supply
    from pytest_ctxguard.engine.runner import BATCH_BUDGET, BUDGET

    try:
        supply = find_supply(model)
    except ModelError:  # said to the test that asks
        return None
    folder = supply if isinstance(supply, Path) else converted(supply.folder)
    return size_below(folder) + BUDGET + BATCH_BUDGET if folder.exists() else None
