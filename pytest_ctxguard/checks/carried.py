"""``ctx_carried`` and ``ctx_absent``: a fact's value stands in the requests, or in none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.carried import Carried, Where


def _places(carried: Carried, at: Where, *, present: bool) -> list[str]:
    """Name the requests in which the value is present, or absent."""
    name = "wording {}" if at == "probe" else "call {} since planting"
    return [
        name.format(number)
        for number, seen in enumerate(carried.requests(at), 1)
        if bool(seen) is present
    ]


def _look(case: Case, promise: CarriedFact | AbsentFact) -> Carried:
    """Look for the fact; a promise about no request at all could not be broken."""
    carried = case.replay.carried(promise.fact)
    if not carried.requests(promise.at):
        planted = case.replay.transcript.fact(promise.fact).planted_at
        raise UsageError(
            f"{promise.marker}({promise.fact!r}, at={promise.at!r}): no call comes after message "
            f"{planted}, which plants it, so nothing could be wrong. Use at='probe'."
        )
    return carried


def _check(kind: object, fact: object, at: str) -> None:
    require(isinstance(fact, str), kind, f"{fact!r} is not the name of a fact")
    require(at in ("probe", "every"), kind, f"at={at!r} is neither 'probe' nor 'every'")


@dataclass(frozen=True, slots=True)
class CarriedFact:
    """The value is in every probe request (``at="every"``: in each request since planting)."""

    fact: str
    at: Where = "probe"

    marker: ClassVar[str] = "ctx_carried"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_carried("fact", "another fact", at="probe")'

    def __post_init__(self) -> None:
        _check(self, self.fact, self.at)

    @property
    def subject(self) -> str:
        """The fact."""
        return self.fact

    def judge(self, case: Case) -> Judgement:
        """Look for the value; one finding at the first request without it."""
        carried = _look(case, self)
        total = len(carried.requests(self.at))
        gone = _places(carried, self.at, present=False)
        source = ", ".join(carried.sources) or "nowhere"
        summary = f"in {total - len(gone)} of {total} requests at {self.at} ({source})"
        if not gone:
            return Judgement(f"carried({self.fact})", summary)
        fact = case.replay.transcript.fact(self.fact)
        finding = Finding(
            rule=f"{self.marker}.lost",
            what=f"the policy dropped {self.fact!r} ({fact.value!r})",
            where=case.place(gone[0], f"planted at message {fact.planted_at}"),
            measured=f"carried in {total - len(gone)} of {total} requests",
            allowed="carried in all of them",
            why="the model cannot answer from what it is not sent; it will guess",
            remedy="keep the message, pin its text, or have the summary carry the value",
        )
        return Judgement(f"carried({self.fact})", summary, (finding,))


@dataclass(frozen=True, slots=True)
class AbsentFact:
    """The value is in no probe request (``at="every"``: in no request since planting)."""

    fact: str
    at: Where = "probe"

    marker: ClassVar[str] = "ctx_absent"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_absent("fact", "another fact", at="probe")'

    def __post_init__(self) -> None:
        _check(self, self.fact, self.at)

    @property
    def subject(self) -> str:
        """The fact."""
        return self.fact

    def judge(self, case: Case) -> Judgement:
        """Look for the value; one finding at the first request that has it."""
        carried = _look(case, self)
        total = len(carried.requests(self.at))
        still = _places(carried, self.at, present=True)
        summary = f"in {len(still)} of {total} requests at {self.at}"
        if not still:
            return Judgement(f"absent({self.fact})", summary)
        fact = case.replay.transcript.fact(self.fact)
        source = ", ".join(sorted({s.source for seen in carried.requests(self.at) for s in seen}))
        finding = Finding(
            rule=f"{self.marker}.kept",
            what=f"{self.fact!r} ({fact.value!r}) is still sent",
            where=case.place(still[0], f"from: {source}"),
            measured=f"carried in {len(still)} of {total} requests",
            allowed="carried in none",
            why="a value that should be gone can still be answered, and is still paid for",
            remedy="drop the message and what repeats it (echoes, summaries, pinned notes)",
        )
        return Judgement(f"absent({self.fact})", summary, (finding,))
