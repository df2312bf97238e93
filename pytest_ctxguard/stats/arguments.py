"""What the numbers of this room may be; anything else is an error, never a result."""

from __future__ import annotations

import math

from pytest_ctxguard.errors import UsageError


def require_counts(hits: int, of: int) -> None:
    """Refuse hits that are no count out of ``of`` trials, one or more."""
    require_count("of", of, least=1)
    require_count("hits", hits)
    if hits > of:
        raise UsageError(f"hits={hits} is more than the {of} trials there are; count them again")


def require_count(name: str, value: int, *, least: int = 0) -> None:
    """Refuse what is not an integer of at least some size."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name}={value!r} is not a count; give an integer, {least} or more")


def require_between(name: str, value: float) -> None:
    """Refuse what is not a number between 0 and 1, both excluded."""
    if not is_number(value) or not 0 < value < 1:
        raise UsageError(f"{name}={value!r} is not a number between 0 and 1, both excluded")


def require_rate(name: str, value: float) -> None:
    """Refuse what is not a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"{name}={value!r} is not a rate; give a number from 0 to 1")


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
