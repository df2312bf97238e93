"""Judge a sample: each claim of a marker, in each cell of trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_ctxguard import stats
from pytest_ctxguard.baseline import Metric
from pytest_ctxguard.checks.compare import NUMERICS, Against, Standing, standing, standing_findings
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import describe
from pytest_ctxguard.checks.sample import SampleCell, SampleClaim
from pytest_ctxguard.checks.sample_beside import beside
from pytest_ctxguard.errors import UsageError


def judge_sample(
    against: Against,
    claim: SampleClaim,
    cells: Sequence[SampleCell],
    *,
    name: str,
    fingerprint: Mapping[str, str],
    population: str,
    show: Callable[[str], str] = str,
) -> Judgement:
    """Judge every cell by every claim.

    Args:
        against: the baseline, and how a finding names the place.
        claim: the marker's arguments.
        cells: the trials, one cell or more, each with its own name.
        name: of the metric; of a named cell it is ``name.cell``.
        fingerprint: the instrument; the number of planned trials is added.
        population: what the trials are drawn from, in words.
        show: from a trial id to what a finding says of the trial.

    Raises:
        UsageError: no cells, two with one name, claims that their trials can never meet, or
            fewer trials than the verdict needs.
    """
    names = [cell.name for cell in cells]
    if not names or len(set(names)) != len(names):
        raise UsageError(f"cells are named {names}; there must be one, each with its own name")
    judged = [
        _Scene(
            against=against,
            claim=claim,
            cell=cell,
            cells=len(cells),
            metric=f"{name}.{cell.name}" if cell.name else name,
            population=population,
            show=show,
        ).judge(fingerprint)
        for cell in cells
    ]
    return Judgement(
        describe(claim),
        "; ".join(each.summary for each in judged),
        tuple(finding for each in judged for finding in each.findings),
        {metric: value for each in judged for metric, value in each.metrics.items()},
        {metric: state for each in judged for metric, state in each.states.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One cell under judgement, with what its findings speak of."""

    against: Against
    claim: SampleClaim
    cell: SampleCell
    cells: int
    metric: str
    population: str
    show: Callable[[str], str]

    def judge(self, fingerprint: Mapping[str, str]) -> Judgement:
        cell, claim = self.cell, self.claim
        claim.check(trials=cell.planned)
        self._require_decided()
        metric = Metric(
            cell.hits,
            {**fingerprint, "trials": str(cell.planned)},
            of=len(cell.trials),
            trials=dict(cell.trials),
        )
        before = standing(self.against, claim.marker, name=self.metric, metric=metric)
        rate = claim.rate(trials=cell.planned, cells=self.cells)
        summary, state = str(cell), before.state
        findings = [*self._too_few(), *self._rate(rate)]
        if rate is not None:
            summary += f"; {thresholds(rate)}"
        if before.finding is not None and not (claim.curtails and _redrawn(before)):
            findings.append(before.finding)
        if before.old is not None:
            paired = beside(
                self.against,
                claim,
                before=before.old.trials or {},
                after=cell.trials,
                family=claim.family(self.cells),
                numerics_differ=before.numerics_differ,
                place=self._place,
            )
            findings += paired.findings
            summary, state = f"{summary}; {paired.summary}", paired.state
        return Judgement(
            self.metric,
            summary,
            standing_findings(self.against, findings),
            metrics={self.metric: metric},
            states={self.metric: state},
        )

    def _require_decided(self) -> None:
        """Refuse a prefix of the trials that leaves the verdict open."""
        claims = self.claim.claims(trials=self.cell.planned, cells=self.cells)
        hits = [outcome == "hit" for outcome in self.cell.trials.values()]
        more = stats.least_more(hits, claims) if claims else self.cell.left
        if more:
            raise UsageError(
                f"{self.metric}: {len(hits)} of {self.cell.planned} trials do not decide the "
                f"verdict; ask {more} more at least"
            )

    def _place(self, ids: Sequence[str]) -> str:
        cell = (f"cell {self.cell.name}",) if self.cell.name else ()
        return self.against.place(*cell, *map(self.show, ids[:3]))

    def _too_few(self) -> Iterator[Finding]:
        at_least, hits = self.claim.at_least, self.cell.hits
        if at_least is None or hits >= at_least:
            return
        yield Finding(
            rule=f"{self.claim.marker}.too-few",
            what=f"{hits} of these {len(self.cell.trials)} trials are answered",
            where=self._place(self.cell.misses),
            measured=str(self.cell),
            allowed=f"at least {at_least} of {self.cell.planned}",
            why="the value was asked for and not given",
            remedy="look at the trials named: is the value sent, and among how many like it; "
            "if fewer answers will do, lower at_least",
        )

    def _rate(self, rate: stats.RateClaim | None) -> Iterator[Finding]:
        verdict = rate.verdict(self.cell.hits) if rate is not None else "pass"
        if rate is None or verdict == "pass":
            return
        open_ = verdict == "inconclusive"
        yield Finding(
            rule=f"{self.claim.marker}.rate",
            what=f"the trials do not show whether recall is {rate.min_rate:g} or more"
            if open_
            else f"recall is below {rate.min_rate:g}",
            where=self._place(self.cell.misses),
            measured=f"{self.cell}, drawn from {self.population}",
            allowed=thresholds(rate),
            why=f"a verdict would be wrong more often than alpha={rate.alpha:g}"
            if open_
            else "others from the same population will be forgotten as often",
            remedy=f"{self._takes(rate)}; or gate these trials alone, with at_least"
            if open_
            else "mend the policy, or lower min_rate",
            inconclusive=open_,
        )

    def _takes(self, rate: stats.RateClaim) -> str:
        """Return how many trials would show the claim, if the rate is the one seen."""
        seen = self.cell.hits / len(self.cell.trials)
        counts = f"{self.cell.hits} of {len(self.cell.trials)}"
        if seen <= rate.min_rate:
            return f"at the rate seen, {counts}, no number of trials shows it: lower min_rate"
        needed = stats.needed_trials(rate.min_rate, true_rate=seen, alpha=rate.alpha)
        number = f"{needed:,}" if needed is not None else f"more than {stats.MOST_TRIALS:,}"
        return f"at the rate seen, {counts}, {number} trials show it four times in five"


def _redrawn(before: Standing) -> bool:
    """Tell whether the baseline's sample is another draw from the same population."""
    return "seed" in before.differing and set(before.differing) <= {"seed", NUMERICS}


def thresholds(rate: stats.RateClaim) -> str:
    """Return the counts that settle a claim about a population, in words."""
    passes, fails = rate.passes_at, rate.fails_at
    return (
        f"min_rate={rate.min_rate:g} at alpha={rate.alpha:g} passes at {passes} or more of "
        f"{rate.trials}, fails at "
        + (f"{fails} or fewer" if fails is not None else "no count: too few trials")
    )
