"""``ctx_unanswered``: the model does not give a value that should be gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.checks.carried import DROP
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.panel import quote, unusable
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.answers import Answers, Trial
from pytest_ctxguard.transcript.model import Fact


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No usable wording is answered with the fact's value, or with one it supersedes.

    Of a fact that takes the place of older values, those are the ones that must not be given;
    of any other fact its own. A wording counts only if the model gives the fact's value when it
    has the fact alone: else not giving it under the policy proves nothing.
    """

    fact: str

    marker: ClassVar[str] = "ctx_unanswered"
    tier: ClassVar[Tier] = "model"
    usage: ClassVar[str] = 'ctx_unanswered("fact", "another fact")'

    def __post_init__(self) -> None:
        require(isinstance(self.fact, str), self, f"{self.fact!r} is not the name of a fact")

    @property
    def subject(self) -> str:
        """The fact."""
        return self.fact

    def judge(self, case: Case) -> Judgement:
        """Ask every wording; one finding quotes the answers that give the value."""
        fact = case.replay.transcript.fact(self.fact)
        answers = case.answers(self.fact)
        if not answers.usable:
            raise UsageError(
                f"{self.marker}({self.fact!r}): no wording is usable ({unusable(answers)}), so "
                "not giving the value proves nothing. Mend the wordings."
            )
        given = [trial for trial in answers.usable if _gives(trial, fact)]
        failed = [trial for trial in answers.usable if trial.outcome == "error"]
        summary = f"given in {len(given)} of {len(answers.usable)} usable wordings"
        if len(answers.usable) < len(answers.trials):
            bad = len(answers.trials) - len(answers.usable)
            summary += f"; {bad} unusable: {unusable(answers)}"
        findings = []
        if given:
            findings.append(self._given(case, fact, answers, given))
        if failed:
            findings.append(self._failed(case, answers, failed))
        return Judgement(describe(self), summary, tuple(findings), requests=len(answers.usable))

    def _given(self, case: Case, fact: Fact, answers: Answers, given: list[Trial]) -> Finding:
        values = ", ".join(map(repr, fact.supersedes or (fact.value,)))
        return Finding(
            rule=f"{self.marker}.given",
            what=f"the model gives {values} of {self.fact!r}, which should be gone",
            where=case.place(*(quote(trial) for trial in given[:3])),
            measured=f"given in {len(given)} of {len(answers.usable)} usable wordings",
            allowed="given in none",
            why="a value that no longer holds, or must not be known, is acted on",
            remedy=DROP,
            requests=len(given),
        )

    def _failed(self, case: Case, answers: Answers, failed: list[Trial]) -> Finding:
        return Finding(
            rule=f"{self.marker}.not-asked",
            what=f"{len(failed)} wordings of {self.fact!r} had no answer",
            where=case.place(*(quote(trial) for trial in failed[:3])),
            measured=f"{len(failed)} of {len(answers.usable)} usable wordings ended in an error",
            allowed="every usable wording is answered",
            why="what was not answered says nothing about what the model would give",
            remedy="mend what the error names; often the request is beyond the model's window",
            inconclusive=True,
            requests=len(failed),
        )


def _gives(trial: Trial, fact: Fact) -> bool:
    if trial.outcome == "error":
        return False
    if fact.supersedes:
        return any(fact.finds(value, trial.text) for value in fact.supersedes)
    return fact.mentions(trial.text)
