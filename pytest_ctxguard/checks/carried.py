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
    """What both promises say about: a fact, in the probe requests or in each since planting.

    Attributes:
        fact: its name.
        at: which of them; ``None``: the probe requests, and of recorded traffic, of which nothing
            is asked, each.
    """

    fact: str
    at: Where | None = None

    marker: ClassVar[str]
    tier: ClassVar[Tier] = "structure"

    def __post_init__(self) -> None:
        require(isinstance(self.fact, str), self, f"{self.fact!r} is not the name of a fact")
        known = self.at in (None, "probe", "every")
        require(known, self, f"at={self.at!r} is neither 'probe' nor 'every'")

    @property
    def subject(self) -> str:
        """The fact."""
        return self.fact

    def look(self, replay: Replay) -> Carried:
        """Look for the fact; a promise about no request at all could not be broken."""
        if self.at == "probe" and replay.traffic:
            raise UsageError(
                f"{self.marker}({self.fact!r}, at='probe'): nothing is asked of recorded traffic, "
                "so it has no probes. Leave at= out: every call from planting on is looked at."
            )
        carried = replay.carried(self.fact)
        if not carried.requests(self.where(replay)):
            planted = replay.transcript.fact(self.fact).planted_at
            raise UsageError(
                f"{self.marker}({self.fact!r}, at={self.where(replay)!r}): no call comes after "
                f"message {planted}, which plants it, so nothing could be wrong. "
                + ("Leave the mark out." if replay.traffic else "Use at='probe'.")
            )
        return carried

    def where(self, replay: Replay) -> Where:
        """Return which requests of a replay are looked at."""
        return self.at or everywhere(replay)

    def places(self, carried: Carried, *, where: Where, present: bool) -> list[str]:
        """Name the requests in which the value is present, or absent."""
        name = "wording {}" if where == "probe" else "call {} since planting"
        return [
            name.format(number)
            for number, seen in enumerate(carried.requests(where), 1)
            if bool(seen) is present
        ]


def everywhere(replay: Replay) -> Where:
    """Return where a fact that holds must stand: in the probes, or if there are none, in calls."""
    return "every" if replay.traffic else "probe"


def sender(replay: Replay) -> str:
    """Name who decided what is sent."""
    return "the client" if replay.traffic else "the policy"


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
        carried, where = self.look(case.replay), self.where(case.replay)
        total = len(carried.requests(where))
        gone = self.places(carried, where=where, present=False)
        source = ", ".join(carried.sources_at(where)) or "nowhere"
        summary = f"in {total - len(gone)} of {total} requests at {where} ({source})"
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
            what=f"{sender(case.replay)} dropped "
            + self._dropped(fact, carried, where=self.where(case.replay)),
            where=case.place(gone[0], f"planted at message {fact.planted_at}"),
            measured=f"carried in {total - len(gone)} of {total} requests",
            allowed="carried in all of them",
            why=NOT_SENT,
            remedy=KEEP,
            requests=len(gone),
        )

    def _dropped(self, fact: Fact, carried: Carried, *, where: Where) -> str:
        """Name what was dropped: the fact, and which of the others that it needs."""
        lacking = [repr(link.fact) for link in carried.links if not all(link.requests(where))]
        own = f"{fact.name!r} ({fact.value!r})"
        if all(carried.own.requests(where)):
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
            gone = self.places(self.look(replay), where=self.where(replay), present=False)
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
        carried, where = self.look(case.replay).own, self.where(case.replay)
        total = len(carried.requests(where))
        still = self.places(carried, where=where, present=True)
        summary = f"in {len(still)} of {total} requests at {where}"
        if not still:
            return Judgement(describe(self), summary, requests=total)
        fact = case.replay.transcript.fact(self.fact)
        source = ", ".join(carried.sources_at(where))
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
