"""``ctx_budget``: every request stays within a number of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.tokens.exactness import approximate_note


@dataclass(frozen=True, slots=True)
class Budget:
    """Every request, probes included, has at most ``limit`` tokens, tools and template counted.

    The limit is also the budget a policy is given when ``ctx_replay`` names none.
    """

    limit: int

    marker: ClassVar[str] = "ctx_budget"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = "ctx_budget(4000)"

    def __post_init__(self) -> None:
        require(is_count(self.limit, least=1), self, f"{self.limit!r} is not a number of tokens")

    @property
    def subject(self) -> str:
        """One budget per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Compare every request with the limit; one finding, at the largest."""
        requests = list(named_requests(case.replay))
        place, largest = max(requests, key=lambda item: item[1].tokens)
        over = sum(request.tokens > self.limit for _, request in requests)
        summary = f"largest of {len(requests)} requests {largest.tokens} of {self.limit} tokens"
        summary += approximate_note(case.replay.counter)
        if not over:
            return Judgement(describe(self), summary, requests=len(requests))
        finding = Finding(
            rule=f"{self.marker}.over",
            what=f"{over} of {len(requests)} requests are over the budget",
            where=case.place(place),
            measured=f"{largest.tokens} tokens at the largest",
            allowed=f"{self.limit} tokens, by {case.replay.counter.name}",
            why="beyond the model's window the provider refuses; below it, it costs more",
            remedy="have the policy count what is sent (its argument `count` is exact: tools, "
            "template and tool-call arguments included)",
            requests=over,
        )
        return Judgement(describe(self), summary, (finding,), requests=len(requests))
