"""``ctx_token_cost``: a session's input does not cost more than the baseline, or a number, says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.compare import standing, standing_findings
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.prefix.cost import Cost, money, whole
from pytest_ctxguard.prefix.rules import find_rule
from pytest_ctxguard.prefix.simulate import simulate
from pytest_ctxguard.replay.values import digest
from pytest_ctxguard.tokens.exactness import approximate_note

NAME = "billed_input_tokens"


@dataclass(frozen=True, slots=True)
class TokenCost:
    """What the input of all calls costs is within a share of the baseline, and within a total.

    Attributes:
        max_increase: ratio by which it may exceed the baseline: 0.02 allows two percent more;
            ``None``: 0, or with ``max_total`` no baseline.
        provider: name of the cache rules by which tokens are weighted; empty: each call is paid in
            full.
        max_total: the most it may be, in tokens.
        pace: seconds from call to call; ``None``: as recorded, or all at once.
    """

    max_increase: float | None = None
    provider: str = ""
    max_total: int | None = None
    pace: float | None = None

    marker: ClassVar[str] = "ctx_token_cost"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_token_cost(max_increase=0.02, provider="anthropic")'

    def __post_init__(self) -> None:
        require(
            self.max_increase is None or _is_amount(self.max_increase),
            self,
            f"max_increase={self.max_increase!r} is not a ratio of 0 or more",
        )
        require(isinstance(self.provider, str), self, f"provider={self.provider!r} is not a name")
        require(
            self.max_total is None or is_count(self.max_total, least=1),
            self,
            f"max_total={self.max_total!r} is not a number of tokens",
        )
        require(
            self.pace is None or (_is_amount(self.pace) and bool(self.provider)),
            self,
            f"pace={self.pace!r} is not a number of seconds of 0 or more, or there is no provider=",
        )

    @property
    def subject(self) -> str:
        """The provider; gates on other providers, and on raw tokens, stack."""
        return self.provider

    @property
    def metric(self) -> str:
        """The name of what is gated."""
        return f"weighted_input_tokens:{self.provider}" if self.provider else NAME

    def judge(self, case: Case) -> Judgement:
        """Compare the cost with the baseline and with the total.

        Raises:
            UsageError: there are no rules of this name.
        """
        billed, cost = case.replay.tokens.billed, self._cost(case)
        value = billed if cost is None else whole(cost.weighted)
        summary = f"{billed:,} input tokens billed over {len(case.replay.steps)} calls"
        if cost is not None:
            summary = f"{cost}{self._price(case, cost)}; {summary}"
        summary += approximate_note(case.replay.counter)
        metric = Metric(value=value, fingerprint=self._fingerprint(case, cost))
        findings = []
        if self.max_total is not None and value > self.max_total:
            findings.append(self._over(case, value, cost=cost))
        if self.max_total is not None and self.max_increase is None:
            return Judgement(describe(self), summary, tuple(findings))
        before = standing(case, self.marker, name=self.metric, metric=metric)
        findings += [before.finding] if before.finding else []
        state = before.state
        if before.old is not None:
            old = before.old.value
            state = "unchanged" if value == old else "improved" if value < old else "regressed"
            if value != old:
                change = (
                    f", {(value - old) / old:+.1%} against {old:,}" if old else f" against {old}"
                )
                summary += change
            # decimal: as floats, 50 * (1 + 0.14) is a little less than 57
            if value > old * (1 + Decimal(str(self.max_increase or 0))):
                findings.append(self._dearer(case, value, old=old, cost=cost))
        return Judgement(
            describe(self),
            summary,
            standing_findings(case, findings),
            metrics={self.metric: metric},
            states={self.metric: state},
        )

    def _cost(self, case: Case) -> Cost | None:
        if not self.provider:
            return None
        rule, replay = find_rule(case.rules(), self.provider), case.replay
        return Cost(simulate(replay.sent, rule=rule, counter=replay.counter, pace=self.pace))

    def _fingerprint(self, case: Case, cost: Cost | None) -> Mapping[str, str]:
        instrument = {"counter": case.replay.counter.name}
        if cost is not None:
            instrument["rules"] = digest(cost.simulation.rule.identity)
        if case.replay.traffic:  # a recording is what is judged, not what it is judged with
            return instrument
        transcript = case.replay.transcript
        instrument["transcript"] = digest([transcript.messages, transcript.tools])
        if cost is not None:
            instrument["times"] = digest([call.at for call in cost.simulation.calls])
        return instrument

    def _price(self, case: Case, cost: Cost) -> str:
        prices = case.prices().get(self.provider)
        if prices is None:
            return ""
        return f"; {money(cost, prices):,.4f} {prices.currency} with the answers"

    def _what(self, value: int, cost: Cost | None) -> str:
        return f"{value:,} input tokens billed" if cost is None else str(cost)

    def _over(self, case: Case, value: int, *, cost: Cost | None) -> Finding:
        return Finding(
            rule=f"{self.marker}.over",
            what=f"the session costs {value - (self.max_total or 0):,} tokens too many",
            where=case.place(*self._worst(case, cost)),
            measured=self._what(value, cost),
            allowed=f"{self.max_total:,}",
            why=self._why(cost),
            remedy="send less, or break the prefix less often" if cost else "send less",
        )

    def _dearer(self, case: Case, value: int, *, old: int, cost: Cost | None) -> Finding:
        more = f"{(value - old) / old:.1%} more input tokens" if old else f"{value:,} input tokens"
        return Finding(
            rule=f"{self.marker}.dearer",
            what=f"the session costs {more}" + (", weighted" if cost else ""),
            where=case.place(*self._worst(case, cost)),
            measured=self._what(value, cost),
            allowed=f"{old:,} in the baseline, and {self.max_increase or 0:.1%} more",
            why=self._why(cost),
            remedy=f"send less, or accept: {case.accept}",
            baseline=True,
        )

    def _worst(self, case: Case, cost: Cost | None) -> tuple[str, ...]:
        """Return how many calls there are, and the miss that costs most."""
        calls = f"{len(case.replay.steps)} calls"
        if cost is None or not cost.misses:
            return (calls,)
        worst = max(cost.misses, key=lambda call: call.tokens - call.read)
        fresh = worst.tokens - worst.read
        return (calls, f"{fresh:,} tokens not read at call {worst.call}: {worst.miss}")

    def _why(self, cost: Cost | None) -> str:
        if cost is None:
            return "every call pays for its whole request"
        return "what is not read from the cache is paid in full, or with a premium for writing it"


def _is_amount(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < float("inf")  # type: ignore[operator]  # a number
