"""Judge a policy by the laws: what is broken, by how little, and the test that shows it."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from threading import Event
from typing import Any

from anyio import from_thread, to_thread

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.laws.catalogue import LAWS, laws_for
from pytest_ctxguard.checks.laws.generating import for_each_history
from pytest_ctxguard.checks.laws.law import Broken, Law
from pytest_ctxguard.checks.laws.rendering import as_test
from pytest_ctxguard.checks.laws.result import LawResult
from pytest_ctxguard.checks.laws.runs import as_transcript, run_policy
from pytest_ctxguard.checks.laws.seeds import Unpicklable, differing
from pytest_ctxguard.checks.laws.subject import Setting, make_subject
from pytest_ctxguard.checks.laws.terms import Inserts, make_terms
from pytest_ctxguard.checks.laws.trying import (
    CALLS_PER_TRANSCRIPT,
    DETERMINISTIC,
    Counterexample,
    Trial,
)
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import refuse_running_loop, run, run_async
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript

MARKER = "ctx_policy_laws"
MAX_EXAMPLES = 50
Count = Counter | Callable[[Sequence[Message]], int]


@dataclass(frozen=True, slots=True)
class LawPlan:
    """A policy to be held to the laws, and on what; see ``ctx_policy_laws`` for each."""

    policy: Policy
    _: KW_ONLY
    counter: Count
    provider: str = "openai"
    declares: Sequence[str] = ()
    transcripts: Sequence[Transcript] = ()
    budgets: Iterable[int] = ()
    sweep: Mapping[str, Iterable[Any]] | None = None
    inserts: Inserts = ()
    refuses: type[Exception] | Iterable[type[Exception]] = ()
    summariser: Summariser | None = None
    max_examples: int = MAX_EXAMPLES
    seed: int = 0
    expect_identity: bool = False


def judge_laws(plan: LawPlan) -> LawResult:
    """Hold a policy to the laws, on generated histories and on every call of the transcripts.

    Raises:
        UsageError: something of the plan is impossible, or ``hypothesis`` is not installed.
    """
    return _judged(plan, _trial(plan, replay=run))


async def judge_laws_async(plan: LawPlan) -> LawResult:
    """Do the same inside a running event loop: the policy runs there, all else in a thread."""
    over = Event()

    def replay(each: Plan) -> Replay:
        if over.is_set():
            raise CancelledError
        return from_thread.run(run_async, each)

    trial = _trial(plan, replay=replay)
    try:
        return await to_thread.run_sync(_judged, plan, trial)
    finally:
        over.set()  # a test that was cancelled leaves its thread behind


def _trial(plan: LawPlan, *, replay: Callable[[Plan], Replay]) -> Trial:
    subject = make_subject(plan.policy, plan.sweep, replay=replay)
    return Trial(
        subject=subject,
        terms=make_terms(
            plan.counter,
            provider=plan.provider,
            inserts=plan.inserts,
            refuses=plan.refuses,
            summariser=plan.summariser,
        ),
        laws=laws_for(_listed(plan.declares), budgeted=subject.budgeted),
        budgets=_checked_budgets(plan.budgets),
    )


def _judged(plan: LawPlan, trial: Trial) -> LawResult:
    for transcript in plan.transcripts:
        trial.try_on(transcript, calls=CALLS_PER_TRANSCRIPT)
    if plan.max_examples:
        for_each_history(trial.try_on, max_examples=plan.max_examples, seed=plan.seed)
    if not trial.runs:
        raise UsageError(f"{MARKER}: max_examples=0 and no transcripts leave nothing to check")
    trial.repeat()
    cases = [(law, trial.shrunk(law)) for law in trial.laws if law.name in trial.broken]
    findings = [_finding(trial, law, case) for law, case in cases]
    if not (trial.acted or plan.expect_identity or "answers" in trial.broken):
        findings.append(_idle(trial))
    tests = tuple(as_test(law, case.broken, case.run) for law, case in cases)
    judgement = Judgement("policy_laws", _summary(trial), tuple(findings))
    return LawResult(trial.subject.name, judgement, tests)


def broken_law(
    law: str,
    policy: Policy,
    history: Sequence[Message],
    *,
    budget: int | None = None,
    knobs: Mapping[str, Any] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    provider: str = "openai",
    inserts: Inserts = (),
    refuses: type[Exception] | Iterable[type[Exception]] = (),
    counter: Count | None = None,
    summariser: Summariser | None = None,
) -> Broken | None:
    """Hold a policy to one law, at every call of one history; it needs no ``--ctxguard``.

    Args:
        law: its name.
        policy: the policy, or a factory.
        history: OpenAI-format chat messages.
        budget: tokens offered to the policy.
        knobs: arguments of the policy, or of the factory; ``budget`` among them is the budget.
        tools: tool definitions.
        provider: whose rules a request must keep.
        inserts: texts the policy may put in.
        refuses: errors by which it says that nothing fits.
        counter: counts requests; default Qwen2.5's tokenizer.
        summariser: what the policy is offered as ``summarise``.

    Returns:
        What is broken, or nothing.

    Raises:
        UsageError: an argument is impossible.
    """
    refuse_running_loop("broken_law", instead="call it in a test without async")
    if law not in LAWS:
        raise UsageError(f"no law is named {law!r}; there are: {', '.join(LAWS)}")
    subject = make_subject(policy, {name: (value,) for name, value in (knobs or {}).items()})
    terms = make_terms(
        counter or RequestEncoder(),
        provider=provider,
        inserts=inserts,
        refuses=refuses,
        summariser=summariser,
    )
    values = subject.knobs[0]
    setting = Setting(values, values.get("budget", budget))
    transcript = as_transcript(history, tools=tools)
    run = run_policy(subject, setting, terms=terms, transcript=transcript)
    broken = LAWS[law].check(run)
    if broken is None and law == DETERMINISTIC:
        try:
            if differing(subject, terms, [(transcript, setting)]):
                what = "two processes of different PYTHONHASHSEED return different messages"
                return Broken(len(run.observed) - 1, what)
        except Unpicklable:
            return None
    return broken


def _listed(declares: Sequence[str]) -> tuple[str, ...]:
    return (declares,) if isinstance(declares, str) else tuple(declares)


def _checked_budgets(budgets: Iterable[int]) -> tuple[int, ...]:
    listed = tuple(budgets)
    for budget in listed:
        if type(budget) is not int or budget < 1:
            raise UsageError(f"budgets has {budget!r}: a budget is a positive number of tokens")
    return listed


def _finding(trial: Trial, law: Law, case: Counterexample) -> Finding:
    run, broken = case.run, case.broken
    size = len(run.observed[broken.call].history)
    plural = "s" if size > 1 else ""
    setting = f", {run.setting}" if str(run.setting) else ""
    first = trial.broken[law.name].run.transcript.name
    found = "" if first == "generated" else f", found in transcript {first}"
    return Finding(
        rule=f"{MARKER}.{law.name}",
        what=broken.what,
        where=f"policy {trial.subject.name}{setting}, a history of {size} message{plural}{found}",
        measured=broken.measured or f"broken at call {broken.call}",
        allowed=law.statement,
        why=law.why,
        remedy=law.remedy,
    )


def _idle(trial: Trial) -> Finding:
    return Finding(
        rule=f"{MARKER}.idle",
        what="the policy never changed a request, at any of its settings",
        where=f"policy {trial.subject.name}",
        measured=f"{trial.requests} requests, none different from its history",
        allowed="at least one that differs",
        why="nothing was tested: every law is kept by doing nothing",
        remedy="let the policy take a budget, or sweep its limit: sweep={'last': range(1, 30)}; a "
        "policy that is meant to send everything says so with expect_identity=True",
    )


def _summary(trial: Trial) -> str:
    kept = len(trial.laws) - len(trial.broken)
    budget = "" if trial.subject.budgeted else ", no budget taken"
    return (
        f"{kept} of {len(trial.laws)} laws kept{budget}; {trial.histories} histories, "
        f"{trial.runs} runs, {trial.requests} requests, {trial.acted} changed; determinism by "
        f"{trial.across or 'nothing'}"
    )
