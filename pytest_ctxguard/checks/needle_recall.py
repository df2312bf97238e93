"""``ctx_needle_recall``: needles are found, in these very trials or in the population of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.guards import idle_finding, mutated_finding, untried_finding
from pytest_ctxguard.checks.panel import shortened
from pytest_ctxguard.checks.promise import ACCEPT, RECORD, Tier, require
from pytest_ctxguard.checks.sample import SampleCell, SampleClaim
from pytest_ctxguard.checks.sample_judging import judge_sample
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.sample import Planned, Sample
from pytest_ctxguard.recall.needles.values import Cell, Recall, Trial
from pytest_ctxguard.recall.outcomes import RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCase:
    """One recall to judge, and what it is judged against.

    Attributes:
        recall: what was asked.
        model: identity of the backend, for fingerprints.
        recorded: gives metric name -> the baseline's value; reads the file when first called.
        require_recorded: whether a metric missing from the baseline fails (in CI).
        updating: whether the baseline is rewritten, so that nothing that it says fails.
        record: the command that records what was measured for the first time.
        accept: the command that accepts what was measured in place of what is recorded.
    """

    recall: Recall
    model: Callable[[], Mapping[str, str]]
    recorded: Callable[[], Mapping[str, Metric]]
    require_recorded: bool = False
    updating: bool = False
    record: str = RECORD
    accept: str = ACCEPT

    def place(self, *parts: str) -> str:
        """Return the five-part finding's *where*: haystack, policy, then the parts."""
        label = f" {self.recall.label!r}" if self.recall.label else ""
        first = f"haystack {self.recall.sample.haystack}, policy {self.recall.policy}{label}"
        return ", ".join([first, *parts])


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleRecall(SampleClaim):
    """Needles are found: so many of these trials, or at such a rate, in every cell.

    Attributes:
        depth: only the cells of this depth.
        records: only the cells of this length.
    """

    depth: float | None = None
    records: int | None = None

    marker: ClassVar[str] = "ctx_needle_recall"
    tier: ClassVar[Tier] = "model"
    usage: ClassVar[str] = "ctx_needle_recall(at_least=16)"

    def __post_init__(self) -> None:
        # not super(): a class with slots is another one than the one its methods were written in
        SampleClaim.__post_init__(self)
        depth, records = self.depth, self.records
        require(
            depth is None or (type(depth) in (int, float) and 0 <= depth <= 1),
            self,
            f"depth={depth!r} is not a number from 0 to 1",
        )
        require(
            records is None or (type(records) is int and records > 0),
            self,
            f"records={records!r} is not a number of records",
        )

    @property
    def subject(self) -> str:
        """The cells it is about, or empty: all."""
        parts = [
            "" if self.records is None else f"records={self.records}",
            "" if self.depth is None else f"depth={self.depth:g}",
        ]
        return ", ".join(filter(None, parts))

    def chosen(self, sample: Sample) -> tuple[Planned, ...]:
        """Return the cells of a sample it is about.

        Raises:
            UsageError: none is.
        """
        cells = tuple(
            cell
            for cell in sample.cells
            if self.depth in (None, cell.depth) and self.records in (None, cell.records)
        )
        if not cells:
            names = "; ".join(cell.name or "one without a name" for cell in sample.cells)
            raise UsageError(
                f"{self.marker}({self.subject}): no cell of this recall is like that; there are: "
                f"{names}"
            )
        return cells

    def check_sample(self, sample: Sample) -> None:
        """Refuse a sample on which this claim could not pass, before anything is asked.

        Raises:
            UsageError: it says how many trials it takes.
        """
        cells = self.chosen(sample)
        for planned in {len(cell.needles) for cell in cells}:
            require(
                self.trials in (None, planned),
                self,
                f"trials={self.trials}, but each cell of this recall has {planned}; leave one of "
                "the two out",
            )
            self.check(trials=planned)

    def judge(self, case: RecallCase) -> Judgement:
        """Hold every cell it is about to the claim."""
        recall = case.recall
        chosen = {cell.name for cell in self.chosen(recall.sample)}
        cells = [cell for cell in recall.cells if cell.name in chosen]
        trials = {trial.id: trial for cell in cells for trial in cell.trials}
        return judge_sample(
            case,
            self,
            [
                SampleCell(cell.name, cell.planned, {t.id: t.outcome for t in cell.trials})
                for cell in cells
            ],
            name="needle_recall",
            fingerprint={
                **recall.sample.fingerprint,
                "counter": recall.counter,
                "outcome_rules": RULES,
                "answer_tokens": str(recall.sample.answer_tokens),
                **case.model(),
            },
            population=recall.sample.population,
            show=lambda id_: quoted(trials[id_]),
        )


def guard_recall(case: RecallCase, *, expect_identity: bool = False) -> Judgement:
    """Find a mutated history, a policy that had nothing to do, and cells without real answers."""
    recall = case.recall
    answered = [cell for cell in recall.cells if _has_answers(cell)]
    findings = [_not_asked(case, cell) for cell in recall.cells if cell not in answered]
    findings += [_not_heard(case, cell) for cell in answered if _is_deaf(cell)]
    if recall.mutated:
        trial, what = next(iter(recall.mutated.items()))
        findings.append(
            mutated_finding(
                "ctx_recall",
                where=case.place(f"trial {trial}", ", ".join(what[:3])),
                measured=f"{len(recall.mutated)} trials with a changed history",
                requests=len(recall.mutated),
            )
        )
    if recall.over and not recall.changed and not expect_identity:
        findings.append(
            idle_finding(
                "ctx_recall",
                where=case.place(f"{recall.over} trials over the budget"),
                measured=f"{recall.longest} tokens in the longest history",
                budget=recall.budget,
                requests=recall.over,
                hint=', and that the layout gives it something to cut (layout="turns")',
            )
        )
    if recall.budget is not None and not (recall.over or recall.changed or expect_identity):
        findings.append(
            untried_finding(
                "ctx_recall", where=case.place(), longest=recall.longest, budget=recall.budget
            )
        )
    total = sum(len(cell.needles) for cell in recall.sample.cells)
    summary = f"the policy changed a request in {recall.changed} of {total} trials"
    return Judgement("guard", summary, tuple(findings), requests=total)


def quoted(trial: Trial) -> str:
    """Return a trial as a finding shows it: outcome, whether carried, answer, recipe."""
    carried = "carried" if trial.carried else "not carried"
    return f"{trial.outcome} ({carried}): {shortened(trial.text)!r} [{trial.recipe}]"


def _has_answers(cell: Cell) -> bool:
    return any(trial.outcome != "error" and trial.text.strip() for trial in cell.trials)


def _is_deaf(cell: Cell) -> bool:
    """Tell whether all needles, some of them in the request, had one answer that is none.

    To abstain in the same words every time is an answer.
    """
    outcomes = {trial.outcome for trial in cell.trials}
    wrong = cell.of > 1 and not outcomes & {"hit", "abstained"}
    carried = any(trial.carried for trial in cell.trials)
    return wrong and carried and len({trial.text for trial in cell.trials}) == 1


def _not_asked(case: RecallCase, cell: Cell) -> Finding:
    name = (f"cell {cell.name}",) if cell.name else ()
    return Finding(
        rule="ctx_recall.not-asked",
        what=f"none of the {cell.of} trials had an answer",
        where=case.place(*name, *map(quoted, cell.trials[:3])),
        measured=_unanswered(cell),
        allowed="one answer at least in each cell",
        why="misses and lost hits are counted among answers; here nothing was measured",
        remedy="mend what the error names; often the request is beyond the model's window",
        inconclusive=True,
        requests=cell.of,
    )


def _unanswered(cell: Cell) -> str:
    errors = sum(trial.outcome == "error" for trial in cell.trials)
    parts = [f"{errors} ended in an error"] if errors else []
    parts += [f"{cell.of - errors} had an empty answer"] if errors < cell.of else []
    return f"of {cell.of} trials {', and '.join(parts)}"


def _not_heard(case: RecallCase, cell: Cell) -> Finding:
    name = (f"cell {cell.name}",) if cell.name else ()
    return Finding(
        rule="ctx_recall.one-answer",
        what=f"all {cell.of} trials had the same wrong answer",
        where=case.place(*name, quoted(cell.trials[0])),
        measured="0 hits, and 1 answer to all of them",
        allowed="answers that depend on the question",
        why="who answers does not read the request, so nothing was measured of the policy",
        remedy="check the backend that answers, and the question; ask it by hand",
        inconclusive=True,
        requests=cell.of,
    )
