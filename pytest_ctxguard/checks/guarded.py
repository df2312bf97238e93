"""The replay a test holds: a :class:`Replay` that can also ask the model and judge itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.checks.catalogue import CHECKS
from pytest_ctxguard.checks.finding import Finding, Judgement, render
from pytest_ctxguard.checks.promise import Case, Promise, judge, make_promises
from pytest_ctxguard.errors import ContextGateFailure, UsageError
from pytest_ctxguard.prefix.cost import BreakEven, Cost
from pytest_ctxguard.prefix.rules import Rule
from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.values import Replay

Record = Callable[[Judgement], None]
OF_A_POLICY = ("ctx_honest", "ctx_summary", "ctx_summariser_faults")
"""Marks of the structure tier that have nothing to judge where no policy was run."""


@dataclass(frozen=True, slots=True, repr=False)
class GuardedReplay(Replay):
    """A replay under test.

    Attributes:
        case: what it is judged against, and who answers its probes.
        guard: what is judged of every replay: no mutation, not idle.
        record: takes each judgement asked for in the test's body.
    """

    case: Case = dataclasses.field(kw_only=True)
    guard: Judgement = dataclasses.field(kw_only=True)
    record: Record = dataclasses.field(kw_only=True)

    def answers(self, fact: str) -> Answers:
        """Ask the model every wording of a fact; answers are remembered."""
        return self.case.answers(fact)

    def cost(
        self,
        provider: str = "",
        *,
        pace: float | None = None,
        rules: Mapping[str, Rule] | None = None,
    ) -> Cost:
        """Return what the session costs with a prompt cache; by default by the run's rules."""
        return Replay.cost(
            self, provider, pace=pace, rules=self.case.rules() if rules is None else rules
        )

    def cuts(
        self, provider: str = "", *, rules: Mapping[str, Rule] | None = None
    ) -> Mapping[int, BreakEven]:
        """Say of each call whose prefix breaks when the cut there pays; by the run's rules."""
        return Replay.cuts(self, provider, rules=self.case.rules() if rules is None else rules)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with this replay whatever is promised: mutation, idleness."""
        return self.guard.findings

    @property
    def judge(self) -> Judge:
        """Judge a promise as a value, and fail nothing: ``replay.judge.wellformed().counts``."""
        return Judge(self)

    @property
    def check(self) -> Checker:
        """Judge a promise here and now: ``replay.check.budget(4000)``."""
        return Checker(self)


@dataclass(frozen=True, slots=True)
class Judge:
    """Every marker without its ``ctx_``, as a method that returns what it comes to.

    Nothing fails, and nothing goes into the report or the baseline.
    """

    replay: GuardedReplay

    def __getattr__(self, name: str) -> Callable[..., Judgement]:
        kind = _marked(name, "judge", further=self.replay.case.further)

        def judged(*args: Any, **kwargs: Any) -> Judgement:
            promises = make_promises(kind, args, kwargs)
            check_judgeable(promises, self.replay)
            if len(promises) > 1:
                raise UsageError(f"replay.judge.{name} judges one fact at a time: {args!r}")
            return judge(promises[0], self.replay.case)

        return judged


@dataclass(frozen=True, slots=True)
class Checker:
    """Every marker without its ``ctx_``, as a method that raises when a promise is broken."""

    replay: GuardedReplay

    def __getattr__(self, name: str) -> Callable[..., tuple[Judgement, ...]]:
        kind = _marked(name, "check", further=self.replay.case.further)

        def checked(*args: Any, **kwargs: Any) -> tuple[Judgement, ...]:
            promises = make_promises(kind, args, kwargs)
            check_judgeable(promises, self.replay)
            judgements = tuple(judge(promise, self.replay.case) for promise in promises)
            for judgement in judgements:
                self.replay.record(judgement)
            enforce(judgements, tolerate_inconclusive=self.replay.case.tolerate_inconclusive)
            return judgements

        return checked


def _marked(name: str, attribute: str, *, further: Mapping[str, type[Any]]) -> type[Any]:
    checks = {**CHECKS, **further}
    kind = checks.get(f"ctx_{name}")
    if kind is None:
        known = ", ".join(marker.removeprefix("ctx_") for marker in sorted(checks))
        raise AttributeError(f"replay.{attribute} has no {name!r}; it has: {known}")
    return kind


def guarded(replay: Replay, *, case: Case, guard: Judgement, record: Record) -> GuardedReplay:
    """Return a replay with the means to ask and to judge."""
    values = {field.name: getattr(replay, field.name) for field in dataclasses.fields(replay)}
    return GuardedReplay(**values, case=case, guard=guard, record=record)


def check_facts(promises: tuple[Promise, ...], replay: Replay) -> None:
    """Refuse promises about facts that the transcript does not have."""
    known = {fact.name for fact in replay.transcript.facts}
    for promise in promises:
        fact = getattr(promise, "fact", None)
        if fact and fact not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise UsageError(
                f"{promise.marker}({fact!r}): transcript {replay.transcript.name!r} has no such "
                f"fact; it has: {listed}"
            )


def check_judgeable(promises: tuple[Promise, ...], replay: Replay) -> None:
    """Refuse promises about recorded traffic that only a policy can keep."""
    for promise in promises if replay.traffic else ():
        if promise.tier == "model" or promise.marker in OF_A_POLICY:
            what = "asks a model" if promise.tier == "model" else "judges what a policy does"
            raise UsageError(
                f"{promise.marker} {what}, and recorded traffic is judged as it was sent, without "
                "policy or probe. Give the mark to a test of its own: ctx_replay(transcript, "
                "policy); or judged=False."
            )


def enforce(judgements: tuple[Judgement, ...], *, tolerate_inconclusive: bool = False) -> None:
    """Raise one failure with every finding, if there is any.

    Raises:
        ContextGateFailure: its first line sums up, the findings follow in five parts each.
    """
    broken = [
        j
        for j in judgements
        if j.verdict == "fail" or (j.verdict == "inconclusive" and not tolerate_inconclusive)
    ]
    if not broken:
        return
    findings = [finding for judgement in broken for finding in judgement.findings]
    head = f"{', '.join(j.promise for j in broken)}: {findings[0].what}"
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    raise ContextGateFailure(
        f"{head}{more}\n\n{render(findings)}",
        verdict="fail" if any(j.verdict == "fail" for j in broken) else "inconclusive",
    )
