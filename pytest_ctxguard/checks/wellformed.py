"""``ctx_wellformed``: every request is one the provider accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.transcript.wellformed import PROVIDERS


@dataclass(frozen=True, slots=True)
class Wellformed:
    """Every request, probes included, keeps the provider's rules."""

    provider: str = "openai"

    marker: ClassVar[str] = "ctx_wellformed"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_wellformed(provider="openai")'

    def __post_init__(self) -> None:
        known = ", ".join(sorted(PROVIDERS))
        require(
            self.provider in PROVIDERS, self, f"no rules for {self.provider!r}, but for {known}"
        )

    @property
    def subject(self) -> str:
        """The provider."""
        return self.provider

    def judge(self, case: Case) -> Judgement:
        """Check every request; one finding per rule, at its first place."""
        first: dict[str, tuple[str, Any]] = {}
        counts: dict[str, int] = {}
        total = 0
        rules = PROVIDERS[self.provider]
        for place, request in named_requests(case.replay):
            total += 1
            problems = rules(request.messages, case.replay.transcript.tools)
            for problem in {p.rule: p for p in reversed(problems)}.values():
                first.setdefault(problem.rule, (place, problem))
                counts[problem.rule] = counts.get(problem.rule, 0) + 1
        findings = tuple(
            Finding(
                rule=f"{self.marker}.{rule}",
                what=problem.what,
                where=case.place(
                    place, *([] if problem.index is None else [f"message {problem.index}"])
                ),
                measured=f"{counts[rule]} of {total} requests break this rule",
                allowed=f"0, by the rules of {self.provider}",
                why=f"the provider refuses: {problem.refusal}"
                if problem.refusal
                else "the provider refuses the request, or the model cannot read it",
                remedy=problem.remedy,
            )
            for rule, (place, problem) in first.items()
        )
        bad = f"{sum(counts.values())} problems" if counts else "all accepted"
        return Judgement(describe(self), f"{total} requests, {bad}", findings)
