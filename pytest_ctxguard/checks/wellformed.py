"""``ctx_wellformed``: every request is one the provider accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.replay.values import Replay, Request
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import PROVIDERS, Problem, Sound


@dataclass(frozen=True, slots=True)
class Wellformed:
    """Every request, probes included, keeps the provider's rules."""

    provider: str = "openai"

    marker: ClassVar[str] = "ctx_wellformed"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_wellformed(provider="openai")'

    def __post_init__(self) -> None:
        known = ", ".join(PROVIDERS)
        require(
            self.provider in PROVIDERS, self, f"no rules for {self.provider!r}, but for {known}"
        )

    @property
    def subject(self) -> str:
        """The provider."""
        return self.provider

    def judge(self, case: Case) -> Judgement:
        """Check every request; one finding per rule, at its first place."""
        first: dict[str, tuple[str, Problem]] = {}
        counts: dict[str, int] = {}
        total = 0
        rules = PROVIDERS[self.provider]
        sound = Sound()
        for place, request, history in _with_history(case.replay):
            total += 1
            tools = request.offered(case.replay.transcript)
            problems = rules(request.messages, tools, history=history, sound=sound)
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
                why=_why(problem),
                remedy=problem.remedy,
                requests=counts[rule],
            )
            for rule, (place, problem) in first.items()
        )
        bad = f"{sum(counts.values())} problems" if counts else "all accepted"
        return Judgement(describe(self), f"{total} requests, {bad}", findings, requests=total)


def _with_history(replay: Replay) -> Iterator[tuple[str, Request, Sequence[Message] | None]]:
    """Yield each request with its place and the uncut history it was made from, where known."""
    messages = replay.transcript.messages
    if replay.traffic and not replay.traffic.uncut:
        yield from ((place, request, None) for place, request in named_requests(replay))
        return
    histories: list[Sequence[Message]] = [messages[: s.call.history] for s in replay.steps]
    for name, requests in replay.probes.items():
        fact = replay.transcript.fact(name)
        before = messages if fact.asked_at is None else messages[: fact.asked_at]
        asked = fact.wordings[: len(requests)]
        histories += [(*before, {"role": "user", "content": wording}) for wording in asked]
    for (place, request), history in zip(named_requests(replay), histories, strict=True):
        yield place, request, history


def _why(problem: Problem) -> str:
    refusal = f"the provider refuses: {problem.refusal}" if problem.refusal else ""
    if problem.stricter:
        return f"{problem.stricter}; {refusal}" if refusal else problem.stricter
    return refusal or "the provider refuses the request, or the model cannot read it"
