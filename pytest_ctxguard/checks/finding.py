"""What a check says: findings a person can act on, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pytest_ctxguard.baseline import Metric, State, worst
from pytest_ctxguard.stats import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One judged statement, in five parts.

    Attributes:
        rule: stable id of the rule, ``marker.rule``.
        what: the statement.
        where: transcript, call or probe, message.
        measured: what was seen.
        allowed: what the promise allows.
        why: what it costs: refused, forgotten, dearer.
        remedy: what to do, or how to accept it.
        inconclusive: whether the data cannot decide.
        requests: how many requests show it; of one that is not about requests, 1.
        baseline: whether it is about the baseline, and accepting what was measured mends it.
    """

    rule: str
    what: str
    where: str
    measured: str
    allowed: str
    why: str
    remedy: str
    inconclusive: bool = False
    requests: int = 1
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one promise came to on one replay.

    Attributes:
        promise: the marker, with its subject.
        summary: one line for the report.
        findings: what is wrong; empty when kept.
        metrics: metric name -> what a baseline keeps.
        states: metric name -> what it is to the baseline; empty of what is not compared with it.
        requests: how many requests were judged, those of probes included; 0: none as such.
    """

    promise: str
    summary: str
    findings: tuple[Finding, ...] = ()
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)
    requests: int = 0

    @property
    def state(self) -> State | Literal[""]:
        """The worst state of its metrics, or empty."""
        return worst(self.states.values())

    @property
    def counts(self) -> dict[str, int]:
        """Rule, without its marker -> how many requests break it; empty when all is kept."""
        found: dict[str, int] = {}
        for finding in self.findings:
            rule = finding.rule.partition(".")[2]
            found[rule] = found.get(rule, 0) + finding.requests
        return found

    @property
    def verdict(self) -> Verdict:
        """``fail`` beats ``inconclusive`` beats ``pass``."""
        if any(not finding.inconclusive for finding in self.findings):
            return "fail"
        return "inconclusive" if self.findings else "pass"


def render(findings: Sequence[Finding], *, width: int = 10) -> str:
    """Return findings as text, five parts each, for a failure message."""
    blocks = []
    for finding in findings:
        head = f"[{finding.rule}] {finding.what}"
        rows = (
            ("where", finding.where),
            ("measured", finding.measured),
            ("allowed", finding.allowed),
            ("why", finding.why),
            ("remedy", finding.remedy),
        )
        body = [f"  {name:<{width}}{text}" for name, text in rows if text]
        blocks.append("\n".join([head, *body]))
    return "\n\n".join(blocks)
