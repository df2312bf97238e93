"""Whether a counter counts as the model's server does, in its own words."""

from __future__ import annotations

from typing import NamedTuple

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.buckets import Counter

OWNER = "said by its owner"
"""Why a counter that says nothing of itself is taken for exact: nobody else can know."""


class Exactness(NamedTuple):
    """How far a counter's numbers are the server's.

    Attributes:
        exact: whether they are equal, tools and template included.
        why: what makes them so; or what it does not know.
    """

    exact: bool
    why: str


def exactness(counter: Counter) -> Exactness:
    """Return what a counter says of itself in ``exact`` and ``why``.

    Raises:
        UsageError: ``exact`` is no bool, or it is ``False`` and ``why`` says nothing.
    """
    exact = getattr(counter, "exact", None)
    if exact is None:
        return Exactness(True, OWNER)
    why = getattr(counter, "why", "")
    if not isinstance(exact, bool) or not isinstance(why, str) or not (exact or why):
        raise UsageError(
            f"counter {counter.name!r} has exact={exact!r} and why={why!r}; exact is a bool, and "
            "where it is False, why is a text that says what the counter does not know"
        )
    return Exactness(exact, why)


def approximation(counter: Counter) -> str:
    """Return what to say once of a counter that approximates; nothing for an exact one."""
    exact, why = exactness(counter)
    return "" if exact else f"approximate counts by {counter.name}: {why}"


def approximate_note(counter: Counter) -> str:
    """Return what a summary adds where a counter approximates; nothing for an exact one."""
    return "" if exactness(counter).exact else f"; approximate, by {counter.name}"
