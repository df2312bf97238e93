"""``ctx_carried`` and ``ctx_absent``: a fact's value stands in the requests, or in none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.carried import Carried, Where


@dataclass(frozen=True, slots=True)
class _AboutFact:
    """What both promises say about: a fact, in the probe requests or in each since planting."""

    fact: str
    at: Where = "probe"

    marker: ClassVar[str]
    tier: ClassVar[Tier] = "structure"

    def __post_init__(self) -> None:
        require(isinstance(self.fact, str), self, f"{self.fact!r} is not the name of a fact")
        known = self.at in ("probe", "every")
        require(known, self, f"at={self.at!r} is neither 'probe' nor 'every'")

    @property
    def subject(self) -> str:
        """The fact."""
        return self.fact

    def look(self, case: Case) -> Carried:
        """Look for the fact; a promise about no request at all could not be broken."""
        carried = case.replay.carried(self.fact)
        if not carried.requests(self.at):
            planted = case.replay.transcript.fact(self.fact).planted_at
            raise UsageError(
                f"{self.marker}({self.fact!r}, at={self.at!r}): no call comes after message "
                f"{planted}, which plants it, so nothing could be wrong. Use at='probe'."
            )
        return carried

    def places(self, carried: Carried, *, present: bool) -> list[str]:
        """Name the requests in which the value is present, or absent."""
        name = "wording {}" if self.at == "probe" else "call {} since planting"
        return [
            name.format(number)
            for number, seen in enumerate(carried.requests(self.at), 1)
            if bool(seen) is present
        ]


@dataclass(frozen=True, slots=True)
class CarriedFact(_AboutFact):
    """The value is in every probe request (``at="every"``: in each request since planting)."""

    marker: ClassVar[str] = "ctx_carried"
    usage: ClassVar[str] = 'ctx_carried("fact", "another fact", at="probe")'

    def judge(self, case: Case) -> Judgement:
        """Look for the value; one finding at the first request without it."""
        carried = self.look(case)
        total = len(carried.requests(self.at))
        gone = self.places(carried, present=False)
        source = ", ".join(carried.sources) or "nowhere"
        summary = f"in {total - len(gone)} of {total} requests at {self.at} ({source})"
        if not gone:
            return Judgement(describe(self), summary)
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
        return Judgement(describe(self), summary, (finding,))


@dataclass(frozen=True, slots=True)
class AbsentFact(_AboutFact):
    """The value is in no probe request (``at="every"``: in no request since planting)."""

    marker: ClassVar[str] = "ctx_absent"
    usage: ClassVar[str] = 'ctx_absent("fact", "another fact", at="probe")'

    def judge(self, case: Case) -> Judgement:
        """Look for the value; one finding at the first request that has it."""
        carried = self.look(case)
        total = len(carried.requests(self.at))
        still = self.places(carried, present=True)
        summary = f"in {len(still)} of {total} requests at {self.at}"
        if not still:
            return Judgement(describe(self), summary)
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
        return Judgement(describe(self), summary, (finding,))
