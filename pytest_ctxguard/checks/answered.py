"""``ctx_answered``: the model gives a fact's value when asked in several wordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.compare import NEAR_TIES, Standing, standing, standing_findings
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.panel import came_to, quote, summed_up, unusable
from pytest_ctxguard.checks.promise import Case, Tier, describe, is_count, require
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.answers import Answers, Trial
from pytest_ctxguard.recall.asking import ANSWER_TOKENS
from pytest_ctxguard.recall.called import CALL_TOKENS
from pytest_ctxguard.recall.controls import linked
from pytest_ctxguard.recall.outcomes import RULES
from pytest_ctxguard.replay.values import digest
from pytest_ctxguard.transcript.fact_json import dump_fact


@dataclass(frozen=True, slots=True)
class Answered:
    """At least ``at_least`` of the fact's usable wordings are answered; none that was is lost.

    The listed wordings are the population, so the count is exact and has no interval.
    ``max_lost`` hits of the baseline may turn into misses.
    """

    fact: str
    at_least: int = 1
    max_lost: int = 0

    marker: ClassVar[str] = "ctx_answered"
    tier: ClassVar[Tier] = "model"
    usage: ClassVar[str] = 'ctx_answered("fact", at_least=5, max_lost=0)'

    def __post_init__(self) -> None:
        require(isinstance(self.fact, str), self, f"{self.fact!r} is not the name of a fact")
        require(
            is_count(self.at_least, least=1),
            self,
            f"at_least={self.at_least!r} is not a count of wordings, 1 or more",
        )
        require(is_count(self.max_lost), self, f"max_lost={self.max_lost!r} is not a count")

    @property
    def subject(self) -> str:
        """The fact."""
        return self.fact

    def judge(self, case: Case) -> Judgement:
        """Ask every wording, then compare with the promise and with the baseline."""
        answers = case.answers(self.fact)
        usable = len(answers.usable)
        if self.at_least > usable:
            raise UsageError(_too_few(self, answers))
        metric = Metric(
            value=answers.hits,
            of=usable,
            trials={trial.id: trial.outcome for trial in answers.usable},
            fingerprint=_fingerprint(case, self.fact),
        )
        name = f"answered.{self.fact}"
        before = standing(case, self.marker, name=name, metric=metric)
        lost = _lost(before, answers)
        found = (self._short(case, answers), self._unstable(case, answers), before.finding)
        findings = [finding for finding in found if finding]
        if len(lost) > self.max_lost:
            findings.append(self._lost(case, lost, before=before))
        state = before.state
        if before.old is not None and (lost or answers.hits > before.old.value):
            state = "regressed" if lost else "improved"
        return Judgement(
            describe(self),
            summed_up(answers),
            standing_findings(case, findings),
            metrics={name: metric},
            states={name: state},
            requests=usable,
        )

    def _short(self, case: Case, answers: Answers) -> Finding | None:
        if answers.hits >= self.at_least:
            return None
        misses = [trial for trial in answers.usable if trial.outcome != "hit"]
        carried = case.replay.carried(self.fact)
        source = ", ".join(carried.sources) or "nowhere"
        return Finding(
            rule=f"{self.marker}.too-few",
            what=f"{self.fact!r} is answered {answers.hits} of {len(answers.usable)} times",
            where=case.place(*(quote(trial) for trial in misses[:3])),
            measured=f"{answers.hits} hits; carried: {'yes' if carried else 'no'} ({source})",
            allowed=f"at least {self.at_least}",
            why="it is sent, but the model does not find it"
            if carried
            else "it is not sent, so the model cannot answer it",
            remedy="send less that looks like the answer, or pin the value near the end"
            if carried
            else "have the policy carry the value; ctx_carried shows where it is lost",
            requests=len(misses),
        )

    def _unstable(self, case: Case, answers: Answers) -> Finding | None:
        flipped = [trial for trial in answers.usable if trial.controls.unstable]
        if not flipped:
            return None
        pairs = (f"{t.id} {t.controls.full}, then {t.controls.again}" for t in flipped)
        return Finding(
            rule=f"{self.marker}.unstable",
            what=f"{len(flipped)} wordings of {self.fact!r} have two outcomes for one request",
            where=case.place("full history, asked twice"),
            measured=", ".join(pairs),
            allowed="the same request has the same outcome",
            why="a hit or a miss may be the backend's, not the policy's",
            remedy="ask a backend that answers greedily, with one set of numerics",
            inconclusive=True,
            requests=len(flipped),
        )

    def _lost(self, case: Case, lost: list[Trial], *, before: Standing) -> Finding:
        return Finding(
            rule=f"{self.marker}.lost-hits",
            what=f"{len(lost)} wordings of {self.fact!r} that were answered no longer are",
            where=case.place(*(quote(trial) for trial in lost[:3])),
            measured=", ".join(came_to(trial) for trial in lost),
            allowed=f"at most {self.max_lost} of the baseline's hits lost",
            why=NEAR_TIES if before.numerics_differ else "users will see the agent forget",
            remedy=f"mend the policy, or accept: {case.accept}",
            inconclusive=before.numerics_differ,
            requests=len(lost),
            baseline=True,
        )


def _lost(before: Standing, answers: Answers) -> list[Trial]:
    was = before.old.trials or {} if before.old is not None else {}
    return [
        trial
        for trial in answers.trials
        if was.get(trial.id) == "hit" and not (trial.outcome == "hit" and trial.controls.usable)
    ]


def _fingerprint(case: Case, fact: str) -> dict[str, str]:
    transcript = case.replay.transcript
    planted = transcript.fact(fact)
    return {
        "transcript": digest([transcript.messages, transcript.tools]),
        "fact": digest([dump_fact(each) for each in linked(transcript, planted)]),
        "outcome_rules": RULES,
        "answer_tokens": str(ANSWER_TOKENS if planted.tool is None else CALL_TOKENS),
        **case.model(),
    }


def _too_few(promise: Answered, answers: Answers) -> str:
    return (
        f"{promise.marker}({promise.fact!r}, at_least={promise.at_least}): only "
        f"{len(answers.usable)} of {len(answers.trials)} wordings are usable "
        f"({unusable(answers) or 'no more are written'}). Lower at_least or add wordings."
    )
