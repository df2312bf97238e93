"""``ctx_carried`` and ``ctx_absent``: a fact's value stands in the requests, or in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.carried import Carried, Where
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.transcript.model import Fact

SHOWN = 8  # budgets listed in a finding
NOT_SENT = "the model cannot answer from what it is not sent; it will guess"
KEEP = "keep the message, pin its text, or have the summary carry the value"
DROP = "drop the message and what repeats it (echoes, summaries, pinned notes)"


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

    def look(self, replay: Replay) -> Carried:
        """Look for the fact; a promise about no request at all could not be broken."""
        carried = replay.carried(self.fact)
        if not carried.requests(self.at):
            planted = replay.transcript.fact(self.fact).planted_at
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
    """The value is in every probe request (``at="every"``: in each request since planting).

    A fact of several hops is carried where the values of all it needs are.

    Attributes:
        budgets: the replay is run again with each of these, in tokens, so that no budget at which
            the policy drops the fact is missed.
    """

    budgets: Sequence[int] | None = None

    marker: ClassVar[str] = "ctx_carried"
    usage: ClassVar[str] = 'ctx_carried("fact", "another fact", at="probe", budgets=range(…))'

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one super() would know.
        _AboutFact.__post_init__(self)
        if self.budgets is None:
            return
        listed = isinstance(self.budgets, Sequence) and not isinstance(self.budgets, str)
        require(listed, self, f"budgets={self.budgets!r} is no range or list of tokens")
        require(len(self.budgets) > 0, self, "budgets= has none in it, so nothing would be run")
        for budget in self.budgets:
            require(is_count(budget, least=1), self, f"budgets= has {budget!r}, not 1 or more")

    def judge(self, case: Case) -> Judgement:
        """Look for the value; one finding at the first request, or budget, without it."""
        carried = self.look(case.replay)
        total = len(carried.requests(self.at))
        gone = self.places(carried, present=False)
        source = ", ".join(carried.sources) or "nowhere"
        summary = f"in {total - len(gone)} of {total} requests at {self.at} ({source})"
        findings = [self._lost(case, carried, gone=gone, total=total)] if gone else []
        if self.budgets is not None:
            lost = tuple(self._sweep(case, self.budgets))
            summary += f"; lost at {len(lost)} of {len(self.budgets)} budgets"
            findings += [self._lost_at(case, lost, of=len(self.budgets))] if lost else []
        return Judgement(describe(self), summary, tuple(findings), requests=total)

    def _lost(self, case: Case, carried: Carried, *, gone: list[str], total: int) -> Finding:
        fact = case.replay.transcript.fact(self.fact)
        return Finding(
            rule=f"{self.marker}.lost",
            what=f"the policy dropped {self._dropped(fact, carried)}",
            where=case.place(gone[0], f"planted at message {fact.planted_at}"),
            measured=f"carried in {total - len(gone)} of {total} requests",
            allowed="carried in all of them",
            why=NOT_SENT,
            remedy=KEEP,
            requests=len(gone),
        )

    def _dropped(self, fact: Fact, carried: Carried) -> str:
        """Name what was dropped: the fact, and which of the others that it needs."""
        lacking = [repr(link.fact) for link in carried.links if not all(link.requests(self.at))]
        own = f"{fact.name!r} ({fact.value!r})"
        if all(carried.probes if self.at == "probe" else carried.calls):
            return f"{', '.join(lacking)}, which {own} needs"
        return f"{own} and {', '.join(lacking)}, which it needs" if lacking else own

    def _sweep(self, case: Case, budgets: Sequence[int]) -> Iterator[_LostAt]:
        """Run the replay again at each budget, with no other fact to ask for; yield the losses."""
        if case.again is None:
            raise UsageError(f"{self.marker}: this replay cannot be run again, so no budgets=")
        transcript = case.replay.transcript
        needed = (link.fact for link in case.replay.carried(self.fact).links)
        facts = tuple(transcript.fact(name) for name in (self.fact, *needed))
        alone = replace(transcript, facts=facts)
        for budget in budgets:
            try:
                replay = case.again(transcript=alone, budget=budget)
            except Exception as error:  # a policy is user code
                error.add_note(f"ctxguard: at budget {budget} of {self.marker}(budgets=…)")
                raise
            if not replay.takes_budget:
                raise UsageError(
                    f"{self.marker}(budgets=…): policy {replay.policy} takes no budget, so it is "
                    "the same at each. Name a parameter `budget` in its signature, or leave "
                    "budgets= out."
                )
            gone = self.places(self.look(replay), present=False)
            if gone:
                yield _LostAt(budget, tuple(gone))

    def _lost_at(self, case: Case, lost: Sequence[_LostAt], *, of: int) -> Finding:
        fact = case.replay.transcript.fact(self.fact)
        first, at = lost[0], f"{len(lost)} of {of} budgets"
        listed = ", ".join(f"{each.budget:,}" for each in lost[:SHOWN])
        more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
        return Finding(
            rule=f"{self.marker}.lost-at-budget",
            what=f"the policy dropped {self.fact!r} ({fact.value!r}) at {at}",
            where=case.place(f"budget {first.budget:,}", first.places[0]),
            measured=f"lost at {at}: {listed}{more}",
            allowed="carried at every one",
            why=NOT_SENT,
            remedy=f"see what it cuts there: ctx_replay(…, budget={first.budget})",
            requests=sum(len(each.places) for each in lost),
        )


@dataclass(frozen=True, slots=True)
class _LostAt:
    """A budget at which the fact is lost, and in which requests."""

    budget: int
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AbsentFact(_AboutFact):
    """The value is in no probe request (``at="every"``: in no request since planting)."""

    marker: ClassVar[str] = "ctx_absent"
    usage: ClassVar[str] = 'ctx_absent("fact", "another fact", at="probe")'

    def judge(self, case: Case) -> Judgement:
        """Look for the value; one finding at the first request that has it."""
        carried = self.look(case.replay).own
        total = len(carried.requests(self.at))
        still = self.places(carried, present=True)
        summary = f"in {len(still)} of {total} requests at {self.at}"
        if not still:
            return Judgement(describe(self), summary, requests=total)
        fact = case.replay.transcript.fact(self.fact)
        source = ", ".join(sorted({s.source for seen in carried.requests(self.at) for s in seen}))
        finding = Finding(
            rule=f"{self.marker}.kept",
            what=f"{self.fact!r} ({fact.value!r}) is still sent",
            where=case.place(still[0], f"from: {source}"),
            measured=f"carried in {len(still)} of {total} requests",
            allowed="carried in none",
            why="a value that should be gone can still be answered, and is still paid for",
            remedy=DROP,
            requests=len(still),
        )
        return Judgement(describe(self), summary, (finding,), requests=total)
