"""``ctx_summariser_faults``: what the policy does when its summariser fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.checks.summaries import (
    dropped,
    grew_finding,
    grown,
    longest_loop,
    loop_finding,
)
from pytest_ctxguard.checks.summary import IN_A_ROW, Summarising
from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.policies.summarisers import (
    ERROR_MARK,
    FAILING,
    FAULTS,
    FaultySummariser,
    ScriptedSummariser,
)
from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.again import Again, repeater
from pytest_ctxguard.replay.recorder import EndlessPolicy
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.model import Transcript

ACCIDENTS = (TypeError, AttributeError, LookupError, NameError, PolicyError)


@dataclass(frozen=True, slots=True)
class SummariserFaults:
    """The replay is run again with each faulty summariser; none may harm the history.

    A policy that lets an error of its own through keeps the promise: the history is as it was,
    and the failure is said.

    Attributes:
        faults: which; keys of :data:`pytest_ctxguard.policies.summarisers.FAULTS`; none: all.
        in_a_row: calls in a row that may ask a summariser that is of no use.
        fallback: whether the policy may cut in another way when there is no summary.
    """

    faults: Sequence[str] = ()
    in_a_row: int = IN_A_ROW
    fallback: bool = False

    marker: ClassVar[str] = "ctx_summariser_faults"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_summariser_faults(faults=("raises", "empty"), fallback=False)'

    def __post_init__(self) -> None:
        require(
            not isinstance(self.faults, str),
            self,
            f"faults={self.faults!r} is not a list of faults",
        )
        for fault in self.faults:
            require(fault in FAULTS, self, f"no fault {fault!r}; there are {', '.join(FAULTS)}")
        require(is_count(self.in_a_row, least=1), self, f"in_a_row={self.in_a_row!r} is no count")

    @property
    def subject(self) -> str:
        """One such promise per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Run the policy again with each fault; one finding per rule, at its first fault."""
        if case.again is None:
            raise UsageError(f"{self.marker}: this replay cannot be run again")
        found: dict[str, list[tuple[str, Finding]]] = {}
        quiet = []
        faults = tuple(self.faults or FAULTS)
        for fault in faults:
            findings, asked = self._under(case, case.again, fault)
            quiet += [] if asked else [fault]
            for finding in findings:
                found.setdefault(finding.rule, []).append((fault, finding))
        summary = f"{len(faults)} faults, {len(found)} rules broken"
        if len(quiet) == len(faults):
            return Judgement(describe(self), summary, (self._never_asked(case),))
        merged = tuple(self._merged(rows) for rows in found.values())
        return Judgement(describe(self), summary, merged)

    def _merged(self, rows: Sequence[tuple[str, Finding]]) -> Finding:
        first = rows[0][1]
        others = ", ".join(fault for fault, _ in rows)
        return replace(
            first, measured=f"{first.measured}; with {len(rows)} of the faults: {others}"
        )

    def _under(self, case: Case, again: Again, fault: str) -> tuple[list[Finding], bool]:
        """Return what is wrong under one fault, and whether the summariser was asked."""
        where = f"summariser that {FAULTS[fault]}"
        try:
            replay = again(summariser=FaultySummariser(fault))
        except EndlessPolicy as error:
            return [self._endless(case, where, error)], True
        except UsageError:
            raise
        except Exception as error:  # a policy is user code
            accident = isinstance(error, ACCIDENTS)
            return ([self._crashed(case, where, error)] if accident else []), True
        under = replace(case, replay=replay)
        findings = list(self._structure(under, fault, where))
        return findings, any(replay.summaries)

    def _structure(self, case: Case, fault: str, where: str) -> Iterator[Finding]:
        replay = case.replay
        failing = fault in FAILING
        if failing:
            yield from self._error_text(case, where)
        if failing and not self.fallback:
            yield from self._lost(case, where)
        if steps := grown(replay):
            yield grew_finding(case, steps, rule=f"{self.marker}.grew", where=where)
        loop = longest_loop(replay)
        if len(loop.steps) > self.in_a_row:
            yield loop_finding(
                case, loop, rule=f"{self.marker}.loop", allowed=self.in_a_row, where=where
            )

    def _error_text(self, case: Case, where: str) -> Iterator[Finding]:
        for step in case.replay.steps:
            for index, message in enumerate(step.request.messages):
                if ERROR_MARK in full_text(message):
                    yield Finding(
                        rule=f"{self.marker}.error-as-summary",
                        what="the text of an error stands in the request as if it were a summary",
                        where=case.place(f"call {step.call.index}", f"message {index}", where),
                        measured=full_text(message)[:200],
                        allowed="no error text in what the model is sent",
                        why="the history is gone, and the model reads a provider's error instead",
                        remedy="let the error through, or keep the history without a summary",
                    )
                    return

    def _lost(self, case: Case, where: str) -> Iterator[Finding]:
        asked = False
        for step, gone in dropped(case.replay):
            asked = asked or bool(step.request.summaries)
            if asked and gone:
                yield Finding(
                    rule=f"{self.marker}.lost",
                    what="messages were cut though there was no summary of them",
                    where=case.place(f"call {step.call.index}", f"message {gone[0]}", where),
                    measured=f"{len(gone)} messages cut, 0 summaries made",
                    allowed="the history as it was, or the error",
                    why="what they said is nowhere, and nobody is told",
                    remedy="cut only after a summary that has text; a policy that is meant to cut "
                    "in another way then says so with ctx_summariser_faults(fallback=True)",
                )
                return

    def _endless(self, case: Case, where: str, error: Exception) -> Finding:
        return Finding(
            rule=f"{self.marker}.endless",
            what="the policy asks its summariser for ever",
            where=case.place(where),
            measured=str(error),
            allowed="an end, whatever the summariser does",
            why="the agent hangs, and pays for every try",
            remedy="give up after a few tries, and after the first that saves nothing",
        )

    def _crashed(self, case: Case, where: str, error: Exception) -> Finding:
        note = next(iter(getattr(error, "__notes__", ())), "")
        return Finding(
            rule=f"{self.marker}.crashed",
            what="the policy breaks on a summariser's answer",
            where=case.place(where),
            measured=f"{type(error).__name__}: {error}",
            allowed="an error that says there is no summary, or the history as it was",
            why=f"the session ends in an accident. {note}".strip(),
            remedy="check the summary before it is used: it may be None, empty or too long",
        )

    def _never_asked(self, case: Case) -> Finding:
        return Finding(
            rule=f"{self.marker}.never-asked",
            what="the policy never asked its summariser",
            where=case.place(),
            measured="0 summariser calls under any fault",
            allowed="at least 1",
            why="nothing was tested: no summariser could fail",
            remedy="give a budget and a transcript that make it act, and have it call the "
            "`summarise` of the replay",
        )


def summariser_faults(
    policy: Policy,
    transcript: Transcript,
    *,
    budget: int | None = None,
    counter: Counter | None = None,
    faults: Sequence[str] = (),
    in_a_row: int = IN_A_ROW,
    fallback: bool = False,
) -> tuple[Finding, ...]:
    """Run a policy with a scripted summariser that works, then with each that fails.

    Args:
        policy: takes ``summarise``, or is a factory that does.
        transcript: what to replay; its facts are looked for in what the summariser is shown.
        budget: tokens offered to the policy.
        counter: exact counter of requests; default Qwen2.5's.
        faults: which, see :data:`pytest_ctxguard.policies.summarisers.FAULTS`; none: all.
        in_a_row: calls in a row that may ask the summariser though it is of no use.
        fallback: whether the policy may cut in another way when there is no summary.

    Returns:
        What is wrong, as the markers ``ctx_summary`` and ``ctx_summariser_faults`` say it.
    """
    plan = Plan(
        transcript=transcript,
        policy=policy,
        counter=counter or RequestEncoder(),
        budget=budget,
        summariser=ScriptedSummariser(),
    )
    again = repeater(plan)
    case = _case(run(plan), again=again)
    checks = (
        Summarising(in_a_row=in_a_row),
        SummariserFaults(faults, in_a_row=in_a_row, fallback=fallback),
    )
    return tuple(finding for check in checks for finding in check.judge(case).findings)


def _case(replay: Replay, *, again: Again) -> Case:
    """Return a case without a model and without a baseline; these checks ask for neither."""
    return Case(replay=replay, answers=_nobody, model=dict, recorded=dict, again=again)


def _nobody(fact: str) -> Answers:
    raise UsageError(f"no model answers {fact!r} here")
