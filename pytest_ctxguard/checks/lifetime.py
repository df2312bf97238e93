"""``ctx_lifetime``: facts are sent as long as they hold, and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.carried import DROP, KEEP, NOT_SENT, everywhere, sender
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.carried import Carried, Seen, Where
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.transcript.model import Fact


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Each fact is there while it holds and gone afterwards; without a fact, all that are declared.

    A fact of one turn, and a forbidden one, is in no request after the turn that plants it, of
    calls and probes. Any other is in every request of its probes. A value that was superseded is
    in no request of a probe without the newer one; with ``strict`` in none, but for messages that
    state the newer one, too: a promise of policies that drop what is outdated. Recorded traffic
    has no probes: each call from planting on is looked at in their place.
    """

    fact: str = ""
    strict: bool = False

    marker: ClassVar[str] = "ctx_lifetime"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_lifetime("fact", "another fact", strict=True) or ctx_lifetime()'

    def __post_init__(self) -> None:
        require(isinstance(self.fact, str), self, f"{self.fact!r} is not the name of a fact")
        require(isinstance(self.strict, bool), self, f"strict={self.strict!r} is no bool")

    @property
    def subject(self) -> str:
        """The fact; empty: all of them."""
        return self.fact

    def judge(self, case: Case) -> Judgement:
        """Judge each fact by its own lifetime; one finding for each way that it is broken."""
        transcript = case.replay.transcript
        facts = (transcript.fact(self.fact),) if self.fact else transcript.facts
        if not facts:
            raise UsageError(
                f"{self.marker}: transcript {transcript.name!r} declares no fact, so nothing could "
                "be wrong. Plant one, or leave the mark out."
            )
        findings, judged, where = [], 0, everywhere(case.replay)
        for fact in facts:
            carried = case.replay.carried(fact.name)
            looked_at = len(carried.requests("later" if fact.must_be_gone else where))
            if not looked_at:
                raise UsageError(
                    f"{self.marker}: no call comes after {fact.name!r} was planted"
                    f"{', and its turn ended' if fact.must_be_gone else ''}, so nothing could be "
                    "wrong. Name the other facts in the mark."
                )
            judged += looked_at
            for broken in self._broken(fact, carried, where=where):
                findings.append(self._finding(case, fact, carried, broken=broken))
        gone = sum(fact.must_be_gone for fact in facts)
        summary = f"{len(facts) - gone} facts that hold, {gone} that must be gone"
        return Judgement(describe(self), summary, tuple(findings), requests=judged)

    def _broken(self, fact: Fact, carried: Carried, *, where: Where) -> Iterator[_Broken]:
        """Yield the ways in which a fact's lifetime is broken, each with the requests that do."""
        older = carried.older.requests(where) if carried.older else ()
        if fact.must_be_gone:
            ways = [_forbidden(carried) if fact.kind == "forbidden" else _expired(carried)]
        else:
            ways = [_lost(carried.requests(where))]
        if older and self.strict:
            ways.append(_superseded(older))
        elif older:
            ways.append(_stale(older, carried.own.requests(where)))
        yield from (way for way in ways if any(way.requests))

    def _finding(self, case: Case, fact: Fact, carried: Carried, *, broken: _Broken) -> Finding:
        replay = case.replay
        places = _later(replay, carried) if broken.later else _judged(replay, carried)
        broken_at = [
            place for place, is_broken in zip(places, broken.requests, strict=True) if is_broken
        ]
        older = ", ".join(map(repr, fact.supersedes))
        return Finding(
            rule=f"{self.marker}.{broken.rule}",
            what=broken.what.format(
                fact=f"{fact.name!r} ({fact.value!r})", older=older, sender=sender(replay)
            ),
            where=case.place(broken_at[0], f"planted at message {fact.planted_at}"),
            measured=f"so in {len(broken_at)} of {len(places)} requests",
            allowed="so in none",
            why=broken.why,
            remedy=broken.remedy,
            requests=len(broken_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Broken:
    """A way to break a lifetime.

    Attributes:
        rule: its id, without the marker.
        what: with ``{fact}``, ``{older}`` and ``{sender}``.
        requests: for each that is judged, whether it is broken there.
        later: whether those are the calls of later turns and the probes; else the probes alone, or
            all calls where there are none.
    """

    rule: str
    what: str
    requests: tuple[bool, ...]
    why: str
    remedy: str
    later: bool = False


def _lost(requests: Seen) -> _Broken:
    return _Broken(
        rule="lost",
        what="{sender} dropped {fact}, which still holds",
        requests=tuple(not seen for seen in requests),
        why=NOT_SENT,
        remedy=KEEP,
    )


def _expired(carried: Carried) -> _Broken:
    return _Broken(
        rule="expired",
        what="{fact} held for one turn, and is sent in later ones",
        requests=tuple(map(bool, carried.own.requests("later"))),
        why="the model may act on what no longer holds, and it is still paid for",
        remedy=DROP,
        later=True,
    )


def _forbidden(carried: Carried) -> _Broken:
    return _Broken(
        rule="forbidden",
        what="{fact} is forbidden, and is sent after the turn it came in",
        requests=tuple(map(bool, carried.own.requests("later"))),
        why="a secret goes out with every call; what was withdrawn may still be done",
        remedy=f"{DROP}, or blank the value where it stands",
        later=True,
    )


def _stale(older: Seen, newer: Seen) -> _Broken:
    return _Broken(
        rule="stale",
        what="{older} is sent without what took its place, {fact}",
        requests=tuple(bool(old) and not new for old, new in zip(older, newer, strict=True)),
        why="the model answers with the outdated value, and nothing it reads speaks against it",
        remedy="keep the update as long as anything that states the older value, or drop both",
    )


def _superseded(older: Seen) -> _Broken:
    return _Broken(
        rule="superseded",
        what="{older} is still sent, though {fact} took its place",
        requests=tuple(map(bool, older)),
        why="what is outdated looks like the answer, and is still paid for",
        remedy=f"{DROP}; without strict=True the newer value beside it is enough",
    )


def _judged(replay: Replay, carried: Carried) -> list[str]:
    return _calls(replay, carried) if replay.traffic else _probes(carried)


def _calls(replay: Replay, carried: Carried, *, skipped: int = 0) -> list[str]:
    """Name the calls from planting on, without the first so many."""
    first = len(replay.steps) - len(carried.calls) + skipped
    return [f"call {step.call.index}" for step in replay.steps[first:]]


def _probes(carried: Carried) -> list[str]:
    return [f"wording {number}" for number in range(1, len(carried.probes) + 1)]


def _later(replay: Replay, carried: Carried) -> list[str]:
    """Name the calls after the turn that plants a fact, then its probes."""
    return [*_calls(replay, carried, skipped=carried.own_turn), *_probes(carried)]
