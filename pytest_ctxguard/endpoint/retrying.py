"""Which failures pass by themselves, and how long they are waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from pytest_ctxguard.errors import UsageError

# Statuses that say: later. 409 and the rest of the 400s say that this request is wrong, and stays
# so. 529 is what overloaded servers after Anthropic's model send.
LATER = (408, 425, 429, 500, 502, 503, 504, 529)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is tried.

    Attributes:
        tries: in all, the first included.
        first: seconds before the second try; each later wait is twice the one before it.
        longest: seconds of a wait, but for one that the server names.
        total: seconds from the first try to the end of the last.
    """

    tries: int = 5
    first: float = 0.25
    longest: float = 15.0
    total: float = 900.0

    def __post_init__(self) -> None:
        if self.tries < 1 or min(self.first, self.longest) < 0 or self.total <= 0:
            raise UsageError(f"{self}: tries is at least 1, total above 0 and no wait below 0")

    def wait(self, tried: int, *, chance: float, named: float | None) -> float | None:
        """Return the seconds before the next try; None where there is none.

        Half of a wait is drawn, so that clients who failed together do not come back together.

        Args:
            tried: how often it was tried.
            chance: drawn from 0 to 1.
            named: the seconds that the server named.
        """
        if tried >= self.tries:
            return None
        if named is not None:
            return named
        longest = min(self.longest, self.first * 2.0 ** (tried - 1))
        return longest * (0.5 + chance / 2)


def named_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a ``Retry-After`` header (RFC 9110, 10.2.3); None without one.

    A date is taken against the response's own ``Date``: the two clocks are then the server's.
    """
    value = headers.get("retry-after", "")
    try:
        if value.strip().isdecimal():
            return float(value)
        then, now = parsedate_to_datetime(value), parsedate_to_datetime(headers.get("date", ""))
        return max((then - now).total_seconds(), 0.0)
    except (TypeError, ValueError, OverflowError):
        return None
