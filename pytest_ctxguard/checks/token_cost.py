"""``ctx_token_cost``: the session does not cost more input tokens than the baseline says."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.compare import standing
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.replay.values import digest

NAME = "billed_input_tokens"


@dataclass(frozen=True, slots=True)
class TokenCost:
    """Billed input tokens over all calls exceed the baseline by at most a share of it.

    ``max_increase`` is a ratio: 0.02 allows two percent more.
    """

    max_increase: float = 0.0

    marker: ClassVar[str] = "ctx_token_cost"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = "ctx_token_cost(max_increase=0.02)"

    def __post_init__(self) -> None:
        ok = isinstance(self.max_increase, int | float) and not isinstance(self.max_increase, bool)
        require(
            ok and 0 <= self.max_increase < float("inf"),
            self,
            f"max_increase={self.max_increase!r} is not a ratio of 0 or more",
        )

    @property
    def subject(self) -> str:
        """One cost gate per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Compare the billed tokens with the baseline."""
        transcript = case.replay.transcript
        billed = case.replay.tokens.billed
        metric = Metric(
            value=billed,
            fingerprint={
                "transcript": digest([transcript.messages, transcript.tools]),
                "counter": case.replay.counter.name,
            },
        )
        before = standing(case, self.marker, name=NAME, metric=metric)
        calls = len(case.replay.steps)
        summary = f"{billed:,} input tokens billed over {calls} calls"
        findings = [before.finding] if before.finding else []
        state = before.state
        if before.old is not None:
            old = before.old.value
            state = "unchanged" if billed == old else "improved" if billed < old else "regressed"
            if billed != old:
                summary += f", {(billed - old) / old:+.1%} against {old:,}"
            # decimal: as floats, 50 * (1 + 0.14) is a little less than 57
            if billed > old * (1 + Decimal(str(self.max_increase))):
                findings.append(self._dearer(case, billed, old=old))
        return Judgement(describe(self), summary, tuple(findings), {NAME: metric}, state or "")

    def _dearer(self, case: Case, billed: int, *, old: int) -> Finding:
        return Finding(
            rule=f"{self.marker}.dearer",
            what=f"the session costs {(billed - old) / old:.1%} more input tokens",
            where=case.place(f"{len(case.replay.steps)} calls"),
            measured=f"{billed:,} input tokens billed",
            allowed=f"{old:,} in the baseline, and {self.max_increase:.1%} more",
            why="every call pays for its whole request",
            remedy=f"send less, or accept: {case.accept}",
        )
