"""What changed since the baseline, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ctxguard.baseline import WORST_FIRST
from pytest_ctxguard.report.run import Change

NOT_WORTH = ("unchanged",)


def share_text(change: Change | None) -> str:
    """Return by how much a value is more or less than the baseline's: ``+2.7%``.

    A state takes its place where there is nothing to compare with.
    """
    if change is None:
        return ""
    if change.state in ("new", "incomparable", "stale") or change.was is None or change.now is None:
        return change.state
    was, now = change.was.value, change.now.value
    if was == now:
        return "="
    return f"{(now - was) / was:+.1%}" if was else f"{now - was:+,}"


def changed(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return what is worth a line, the worst first: all but what is as it was, unaccepted."""
    return tuple(
        sorted(
            (c for c in changes if c.state not in NOT_WORTH or c.accepted),
            key=lambda c: WORST_FIRST.index(c.state),
        )
    )


def state_text(change: Change) -> str:
    """Return the state; of a value that was accepted, that."""
    return "accepted" if change.accepted else change.state


def values_text(change: Change, *, arrow: str = "->") -> str:
    """Return what it was and what it is now: ``350,540 -> 360,000 (+2.7%)``."""
    if change.accepted:
        kept = change.was.accepted if change.was is not None else None
        before = f"{kept.was:,} {arrow} " if kept is not None and kept.was is not None else ""
        return f"{before}{change.now}, for the reason {change.accepted!r}"
    if change.was is None or change.now is None:
        return str(change.now if change.was is None else change.was) if change.metric else ""
    share = share_text(change)
    more = f" ({share})" if share[0] in "+-" else ""
    if change.differing:
        more += f", measured with another {', '.join(change.differing)}"
    return f"{change.was} {arrow} {change.now}{more}"
