"""``ctx_summary``: the summariser is asked when it helps, and shown what it is to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.checks.summaries import (
    grew_finding,
    grown,
    longest_loop,
    loop_finding,
    not_shown,
)
from pytest_ctxguard.replay.calls import Summary

IN_A_ROW = 3


@dataclass(frozen=True, slots=True)
class Summarising:
    """The policy asks its summariser, for something that helps, with all that is to be kept.

    Attributes:
        window: context window of the summariser's model; each of its requests must fit, the
            answer's ``max_tokens`` included.
        max_output: most tokens that model may answer with.
        in_a_row: calls in a row that may ask the summariser though little came in between.
    """

    window: int | None = None
    max_output: int | None = None
    in_a_row: int = IN_A_ROW

    marker: ClassVar[str] = "ctx_summary"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = "ctx_summary(window=None, max_output=None, in_a_row=3)"

    def __post_init__(self) -> None:
        for name in ("window", "max_output", "in_a_row"):
            value = getattr(self, name)
            ok = is_count(value, least=1) or (value is None and name != "in_a_row")
            require(ok, self, f"{name}={value!r} is not a number of 1 or more")

    @property
    def subject(self) -> str:
        """One promise about summaries per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Look at every summariser call of the replay's calls; probes ask for no summary."""
        asked = [s for summaries in case.replay.summaries for s in summaries]
        calls = sum(bool(summaries) for summaries in case.replay.summaries)
        shown = max((s.tokens for s in asked), default=0)
        summary = f"asked {len(asked)} times at {calls} calls, {shown} tokens at most"
        requests = len(case.replay.steps)
        if not asked:
            return Judgement(describe(self), summary, (self._never_asked(case),), requests=requests)
        findings = [*self._facts(case), *self._requests(case)]
        loop = longest_loop(case.replay)
        if len(loop.steps) > self.in_a_row:
            findings.append(
                loop_finding(case, loop, rule=f"{self.marker}.loop", allowed=self.in_a_row)
            )
        if steps := grown(case.replay):
            findings.append(grew_finding(case, steps, rule=f"{self.marker}.grew"))
        return Judgement(describe(self), summary, tuple(findings), requests=requests)

    def _never_asked(self, case: Case) -> Finding:
        invented = [
            step
            for step in case.replay.steps
            if step.request.cut and any(o.index is None for o in step.request.origins)
        ]
        place = [f"call {invented[0].call.index}"] if invented else []
        return Finding(
            rule=f"{self.marker}.never-asked",
            what="the history was replaced by text that no summariser wrote"
            if invented
            else "the policy never asked its summariser",
            where=case.place(*place),
            measured="0 summariser calls",
            allowed="at least 1",
            why="what was cut is gone, and the text in its place was made from nothing"
            if invented
            else "nothing was tested: no summary was made",
            remedy="check what the policy gives its summariser when it trims; check that it "
            "calls the `summarise` of the replay, and that the budget makes it act",
            requests=len(invented or case.replay.steps),
        )

    def _facts(self, case: Case) -> list[Finding]:
        return [
            Finding(
                rule=f"{self.marker}.fact-not-shown",
                what=f"{fact.name!r} ({fact.value!r}) was cut, and the summariser never saw it",
                where=case.place(
                    f"call {step.call.index}", f"planted at message {fact.planted_at}"
                ),
                measured=f"shown {max(s.tokens for s in asked)} tokens at most, in {len(asked)} "
                f"calls, of {step.history_tokens} tokens of history",
                allowed="what is cut was shown to the summariser first",
                why="no summary can keep what its writer was not given",
                remedy="give the summariser all that the summary replaces, in parts if it must be "
                "(some frameworks show it only the newest tokens: raise or remove that limit)",
            )
            for fact, step, asked in not_shown(case.replay)
        ]

    def _requests(self, case: Case) -> list[Finding]:
        """Judge the summariser's own requests: they are model calls like any other."""
        problems: dict[str, tuple[int, Summary]] = {}
        for step in case.replay.steps:
            for asked in step.request.summaries:
                for rule in self._broken(asked):
                    problems.setdefault(rule, (step.call.index, asked))
        return [self._refused(case, rule, call, asked) for rule, (call, asked) in problems.items()]

    def _broken(self, asked: Summary) -> list[str]:
        output = asked.max_tokens
        over = self.window is not None and asked.tokens + (output or 0) > self.window
        beyond = output is not None and (
            output < 1 or (self.max_output is not None and output > self.max_output)
        )
        found = (("too-long", over), ("tools-offered", bool(asked.tools)), ("max-output", beyond))
        return [rule for rule, broken in found if broken]

    def _refused(self, case: Case, rule: str, call: int, asked: Summary) -> Finding:
        what, measured, allowed, remedy = {
            "too-long": (
                "the summariser's own request does not fit its window",
                f"{asked.tokens} tokens shown, {asked.max_tokens or 0} for the answer",
                f"{self.window} tokens",
                "summarise in parts that each fit, or drop the oldest first",
            ),
            "tools-offered": (
                "the summariser is offered tools",
                f"{len(asked.tools)} tools",
                "none",
                "ask for a summary without tools, or with tool_choice none",
            ),
            "max-output": (
                "the summary's output limit is not one the model takes",
                f"max_tokens {asked.max_tokens}",
                f"1 to {self.max_output or 'the model’s limit'}",
                "give a fixed limit; it does not grow with the history",
            ),
        }[rule]
        return Finding(
            rule=f"{self.marker}.{rule}",
            what=what,
            where=case.place(f"call {call}"),
            measured=measured,
            allowed=allowed,
            why="some models then answer with a call and no text: the summary is empty"
            if rule == "tools-offered"
            else "the provider refuses it, just when the session has to shrink",
            remedy=remedy,
        )
