"""The same trials twice: which hits were lost and gained, and what that shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.stats.arguments import require_count
from pytest_ctxguard.stats.binomial import p_at_most
from pytest_ctxguard.stats.curtailing import HIT

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Changes:
    """The paired table, as trial ids in the order of the later outcomes.

    Attributes:
        kept: hit before and after.
        lost: hit before, missed after.
        gained: missed before, hit after.
        missed: missed before and after.
    """

    kept: tuple[str, ...]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def trials(self) -> int:
        """How many pairs there are."""
        return len(self.kept) + len(self.lost) + len(self.gained) + len(self.missed)


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
    """Pair two runs of the same trials.

    Args:
        before: trial id -> outcome; everything but ``hit`` is a miss.
        after: the same trials again.

    Raises:
        UsageError: no trials, or not the same ids; the message names those that differ.
    """
    if not after and not before:
        raise UsageError("no trials to compare; an empty comparison shows nothing")
    only = {"before": [i for i in before if i not in after], "after": [*(set(after) - set(before))]}
    if any(only.values()):
        raise UsageError(
            "not the same trials, so they cannot be compared in pairs: "
            + "; ".join(f"only {when}: {_named(ids)}" for when, ids in only.items() if ids)
        )

    def ids(was: bool, now: bool) -> tuple[str, ...]:
        return tuple(i for i in after if (before[i] == HIT) is was and (after[i] == HIT) is now)

    return Changes(ids(True, True), ids(True, False), ids(False, True), ids(False, False))


def mcnemar(lost: int, gained: int) -> float:
    """Return the exact two-sided p-value of "as many are lost as gained".

    McNemar, Psychometrika 12 (1947), in its exact form: the smaller count against a fair coin.
    """
    require_count("lost", lost)
    require_count("gained", gained)
    if lost + gained == 0:
        return 1.0
    return min(1.0, 2 * p_at_most(min(lost, gained), lost + gained, rate=0.5))


def _named(ids: list[str]) -> str:
    shown = ", ".join(sorted(ids)[:SHOWN])
    return shown + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")
