"""Under xdist: one engine for all workers of a run, or one for each; what is chosen, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

SHARE = 0.5  # of the free memory that engines may take; the tests' own code wants some, too


@dataclass(frozen=True, slots=True)
class Division:
    """Who runs the model.

    Attributes:
        workers: xdist's.
        each: whether every worker runs its own; else one process does for all.
        threads: that each engine computes with.
        reason: why, where there was something to decide.
    """

    workers: int
    each: bool
    threads: int
    reason: str = ""

    def __str__(self) -> str:
        """Return it as the report's header has it."""
        of = f"{self.workers} worker{'' if self.workers == 1 else 's'}"
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        what = f"an engine of {threads} for each of {of}" if self.each else f"one engine for {of}"
        return f"{what} ({self.reason})" if self.reason else what


def divide(
    wanted: Literal["auto", "shared", "each"],
    *,
    workers: int,
    cores: int,
    available: int | None,
    engine: int | None,
) -> Division:
    """Decide who runs the model; no answer depends on it, see docs/workers.md.

    Args:
        wanted: ini ``ctxguard_engine``.
        workers: xdist's, at least 1.
        cores: processors that this run may use.
        available: bytes of memory that are free; None where the system does not say.
        engine: bytes that one engine takes at most; None where the model's size is not known.
    """
    shared = Division(workers, each=False, threads=cores)
    each = Division(workers, each=True, threads=max(1, cores // workers))
    if wanted != "auto":
        return each if wanted == "each" else shared
    against = _against(workers=workers, cores=cores, available=available, engine=engine)
    return replace(shared, reason=against) if against else replace(each, reason="memory is free")


def _against(*, workers: int, cores: int, available: int | None, engine: int | None) -> str:
    """Return what speaks against an engine for each worker; empty where nothing does."""
    if workers == 1:
        return "there is no other"
    if workers > cores:
        return f"more workers than processors, {cores}"
    if engine is None:
        return "the model is not converted yet, so its size is not known"
    if available is None:
        return "how much memory is free is not known"
    needed = workers * engine
    if needed > SHARE * available:
        return f"one each could take {needed / 1e9:.1f} GB, {available / 1e9:.1f} GB are free"
    return ""
