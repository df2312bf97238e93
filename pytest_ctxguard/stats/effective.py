"""How far a context can grow before recall falls off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats.arguments import require_count, require_counts, require_rate
from pytest_ctxguard.stats.binomial import TIE


@dataclass(frozen=True, slots=True)
class LengthCell:
    """Recall at one length.

    Attributes:
        length: of the context, or the budget: tokens, records, whatever the cells share.
        hits: trials answered.
        of: trials.
    """

    length: int
    hits: int
    of: int

    def __post_init__(self) -> None:
        require_count("length", self.length, least=1)
        require_counts(self.hits, self.of)


@dataclass(frozen=True, slots=True)
class Effective:
    """The effective length, and the counts it rests on.

    Attributes:
        last: the longest cell that holds; ``None``: not even the shortest does.
        drop: the first cell that does not; ``None``: all hold, so the length is a lower bound.
        base: what the cells are held to.
        share: the share of the base's recall that must be left.
    """

    last: LengthCell | None
    drop: LengthCell | None
    base: LengthCell
    share: float

    @property
    def length(self) -> int | None:
        """The effective length."""
        return self.last.length if self.last is not None else None

    def __str__(self) -> str:
        reached = "none" if self.last is None else f"{self.last.length:,} ({_counts(self.last)})"
        bound = "at least " if self.drop is None else ""
        after = "" if self.drop is None else f", then {self.drop.length:,} ({_counts(self.drop)})"
        return (
            f"{bound}{reached}{after}; base {self.base.length:,} ({_counts(self.base)}), "
            f"share {self.share:g}"
        )


def effective_length(
    cells: Sequence[LengthCell], *, share: float = 0.85, base: LengthCell | None = None
) -> Effective:
    """Return the largest length up to which recall is at least a share of the base's.

    The first cell below it ends the search, whatever comes after: one lucky long cell does not
    stretch it. Where the base has no hit, no length holds. The share is of the base's recall in
    the same model (Hsieh et al., "RULER", 2024, hold every model to one fixed base).

    Args:
        cells: in any order, each length once.
        share: between 0 (excluded) and 1.
        base: the short-context cell; default the shortest of ``cells``.

    Raises:
        UsageError: no cells, a length twice, or a share outside its range.
    """
    require_rate("share", share)
    if share == 0:
        raise UsageError("share=0 holds for every cell; give a share above 0")
    ordered = sorted(cells, key=lambda cell: cell.length)
    if not ordered:
        raise UsageError("no cells, so no length; measure at least one")
    lengths = [cell.length for cell in ordered]
    if len(set(lengths)) != len(lengths):
        raise UsageError(f"a length stands twice in {lengths}; count its trials together")
    base = ordered[0] if base is None else base
    last, drop = None, None
    for cell in ordered:
        if not base.hits or cell.hits * base.of < share * base.hits * cell.of * (1 - TIE):
            drop = cell
            break
        last = cell
    return Effective(last, drop, base, share)


def _counts(cell: LengthCell) -> str:
    return f"{cell.hits} of {cell.of}"
