"""Ask a sample under a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_ctxguard import stats
from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.policies.protocol import Policy, policy_name
from pytest_ctxguard.recall.asking import Asker, Question, Spent
from pytest_ctxguard.recall.called import judge_told, probe_question
from pytest_ctxguard.recall.needles.sample import Needle, Planned, Sample, prompt_digest
from pytest_ctxguard.recall.needles.values import Cell, Recall, Trial
from pytest_ctxguard.replay.again import planner
from pytest_ctxguard.replay.carried import Source
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import run, run_async
from pytest_ctxguard.replay.values import Replay, Request
from pytest_ctxguard.tokens.buckets import Counter

Claims = Callable[[Planned], Sequence[stats.Claim]]
"""The claims on a cell that may end asking it early; none: every trial is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a sample is asked under.

    Attributes:
        policy: a policy, or a factory; every trial has one of its own.
        counter: exact counter of requests.
        budget: tokens offered to the policy.
        summariser: what it is offered as ``summarise``.
        label: name of the recall in keys and reports.
    """

    policy: Policy
    counter: Counter
    budget: int | None = None
    summariser: Summariser | None = None
    label: str = ""

    def plans(self, sample: Sample) -> Mapping[str, Plan]:
        """Return a replay to run for each trial.

        Raises:
            UsageError: the policy cannot be copied, or a trial's fact cannot be asked for.
        """
        needles = {id_: needle for cell in sample.cells for id_, needle in cell.needles.items()}
        first = next(iter(needles.values())).transcript
        afresh = planner(
            Plan(
                transcript=first,
                policy=self.policy,
                counter=self.counter,
                budget=self.budget,
                summariser=self.summariser,
                label=self.label,
            )
        )
        return {id_: afresh(transcript=needle.transcript) for id_, needle in needles.items()}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a policy made of one trial's transcript.

    Attributes:
        request: the probe's request.
        sources: where the value stands in it.
        acted: whether any request was changed.
        history: tokens of the uncut probe.
        mutated: what the policy changed of the history it was handed.
    """

    request: Request
    sources: tuple[Source, ...]
    acted: bool
    history: int
    mutated: tuple[str, ...]


def show(sample: Sample, setting: Setting) -> Mapping[str, Shown]:
    """Run the policy on every trial: trial id -> what it would send."""
    return {id_: _shown(run(plan)) for id_, plan in setting.plans(sample).items()}


async def show_async(sample: Sample, setting: Setting) -> Mapping[str, Shown]:
    """Do the same inside a running event loop."""
    return {id_: _shown(await run_async(plan)) for id_, plan in setting.plans(sample).items()}


def ask(
    sample: Sample,
    shown: Mapping[str, Shown],
    *,
    setting: Setting,
    asker: Asker,
    claims: Claims | None = None,
) -> Recall:
    """Ask every trial, all at once so that common beginnings are computed once.

    Args:
        sample: the trials.
        shown: trial id -> what the policy sends.
        setting: what made it.
        asker: asks the model.
        claims: with these, a cell's trials are asked in order, no further than they need.
    """
    before = asker.spent
    label = f"needles in {sample.haystack} under {policy_name(setting.policy)}"
    trials: dict[str, Trial] = {}

    def some(planned: Planned, ids: Sequence[str]) -> list[str]:
        questions = [_question(sample, planned.needles[id_], shown[id_]) for id_ in ids]
        answers = asker.ask(questions, label=label)
        for id_, question, answer in zip(ids, questions, answers, strict=True):
            trials[id_] = _judged(
                id_, planned.needles[id_], question=question, shown=shown[id_], answer=answer
            )
        return [trials[id_].outcome for id_ in ids]

    if claims is None:
        whole = Planned(
            name="", needles={k: n for cell in sample.cells for k, n in cell.needles.items()}
        )
        some(whole, list(whole.needles))
    else:
        for planned in sample.cells:
            stats.ask_until_decided(
                list(planned.needles),
                partial(some, planned),
                claims=claims(planned),
            )
    return _recall(sample, shown, setting=setting, trials=trials, spent=asker.spent - before)


def _shown(replay: Replay) -> Shown:
    (fact,) = replay.transcript.facts
    (request,) = replay.probes[fact.name]
    requests = [*(step.request for step in replay.steps), request]
    return Shown(
        request=request,
        sources=replay.carried(fact.name).sources,
        acted=any(each.acted for each in requests),
        history=max(request.given_tokens, *(step.history_tokens for step in replay.steps)),
        mutated=next((each.mutated for each in requests if each.mutated), ()),
    )


def _question(sample: Sample, needle: Needle, shown: Shown) -> Question:
    (fact,) = needle.transcript.facts
    question = probe_question(fact, shown.request.messages, tools=needle.transcript.tools)
    longest = max(question.max_tokens, sample.answer_tokens)
    return replace(question, max_tokens=longest)


def _judged(
    id_: str, needle: Needle, *, question: Question, shown: Shown, answer: Completion | BackendError
) -> Trial:
    (fact,) = needle.transcript.facts
    judged = judge_told(fact, question, answer)
    return Trial(
        id=id_,
        recipe=str(needle),
        outcome=judged.outcome,
        text=judged.text,
        sources=shown.sources,
        tokens=shown.request.tokens,
        digest=prompt_digest(shown.request.messages, needle.transcript),
    )


def _recall(
    sample: Sample,
    shown: Mapping[str, Shown],
    *,
    setting: Setting,
    trials: Mapping[str, Trial],
    spent: Spent,
) -> Recall:
    budget = setting.budget
    return Recall(
        sample=sample,
        cells=tuple(
            Cell(
                name=planned.name,
                planned=len(planned.needles),
                trials=tuple(trials[id_] for id_ in planned.needles if id_ in trials),
                depth=planned.depth,
                records=planned.records,
            )
            for planned in sample.cells
        ),
        policy=policy_name(setting.policy),
        label=setting.label,
        budget=budget,
        counter=setting.counter.name,
        spent=spent,
        changed=sum(each.acted for each in shown.values()),
        over=sum(budget is not None and each.history > budget for each in shown.values()),
        longest=max(each.history for each in shown.values()),
        mutated={id_: each.mutated for id_, each in shown.items() if each.mutated},
    )
