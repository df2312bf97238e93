"""What fills the requests of a whole session: buckets by call and turn, and what was resent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import groupby, pairwise, permutations
from typing import Literal

from pytest_ctxguard.tokens.buckets import BUCKETS, EMPTY, Buckets

By = Literal["turn", "call"]


@dataclass(frozen=True, slots=True)
class CallBuckets:
    """One call's request.

    Attributes:
        call: its number, from 0.
        turn: the turn it belongs to, from 1; 0: before the first user message.
        tokens: its tokens by what they carry.
        resent: tokens of the messages and definitions that the request before it had, too.
    """

    call: int
    turn: int
    tokens: Buckets
    resent: int


@dataclass(frozen=True, slots=True)
class Overtaking:
    """A bucket that became larger than another one.

    Attributes:
        bucket: the larger one, from here on.
        other: the one that it overtook.
        turn: the turn.
        call: the call.
    """

    bucket: str
    other: str
    turn: int
    call: int


@dataclass(frozen=True, slots=True)
class BucketUse:
    """The buckets of each call of a session, one call at least.

    Attributes:
        calls: in order.
    """

    calls: tuple[CallBuckets, ...]

    @property
    def billed(self) -> Buckets:
        """Input tokens over all calls, each request paid in full."""
        return sum((call.tokens for call in self.calls), start=EMPTY)

    @property
    def resent(self) -> int:
        """Tokens that were sent byte for byte at the call before, too, over all calls."""
        return sum(call.resent for call in self.calls)

    @property
    def growth(self) -> float:
        """The share of what was billed that was resent, from 0 to 1."""
        return self.resent / self.billed.total

    @property
    def turns(self) -> tuple[BucketUse, ...]:
        """The same of each turn's calls alone."""
        return tuple(
            BucketUse(tuple(calls)) for _, calls in groupby(self.calls, key=lambda call: call.turn)
        )

    @property
    def overtakings(self) -> tuple[Overtaking, ...]:
        """For each pair of buckets the first call at which one became larger than the other.

        What was larger from its first token on has overtaken nothing.
        """
        found = (self._overtaking(a, b) for a, b in permutations(BUCKETS, 2))
        return tuple(sorted(filter(None, found), key=lambda each: each.call))

    def _overtaking(self, bucket: str, other: str) -> Overtaking | None:
        for before, call in pairwise(self.calls):
            was, now = asdict(before.tokens), asdict(call.tokens)
            if was[bucket] <= was[other] and now[bucket] > now[other] > 0:
                return Overtaking(bucket, other, turn=call.turn, call=call.call)
        return None
