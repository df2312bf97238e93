"""Try a policy against its laws, run after run, and keep the first run that breaks each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pytest_ctxguard.checks.laws.law import Broken, Law
from pytest_ctxguard.checks.laws.runs import Run, as_transcript, run_policy
from pytest_ctxguard.checks.laws.seeds import Unpicklable, differing
from pytest_ctxguard.checks.laws.shrinking import ROUNDS, History, shrink
from pytest_ctxguard.checks.laws.subject import Subject
from pytest_ctxguard.checks.laws.sweep import sweep
from pytest_ctxguard.checks.laws.terms import Terms
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.wellformed import PROVIDERS

CALLS_PER_HISTORY = 100
CALLS_PER_TRANSCRIPT = 1_000
FEWEST_RUNS = 4  # over a long transcript, whatever calls that takes
SAMPLE = 12  # runs that are repeated for the law of determinism
ROUNDS_BY_SEED = 6  # each starts two processes
DETERMINISTIC = "deterministic"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A run that breaks a law, and where."""

    run: Run
    broken: Broken


@dataclass(slots=True, kw_only=True)
class Trial:
    """A policy on trial.

    Attributes:
        subject: the policy.
        terms: what it is judged by.
        laws: those it must keep.
        budgets: the budgets to run; none: as the sweep finds them.
        broken: law -> the first run that broke it.
        histories: how many histories it was run on.
        runs: how many times it was run over one.
        requests: how many requests it made.
        acted: how many of them differ from their history.
        across: how determinism was looked at.
    """

    subject: Subject
    terms: Terms
    laws: tuple[Law, ...]
    budgets: tuple[int, ...] = ()
    broken: dict[str, Counterexample] = field(default_factory=dict)
    histories: int = 0
    runs: int = 0
    requests: int = 0
    acted: int = 0
    across: str = ""
    _sample: list[Run] = field(default_factory=list)
    _smallest: Counterexample | None = None  # of the law being shrunk
    _by_seed: bool = False  # it takes two processes to see that the policy is not deterministic

    def try_on(self, transcript: Transcript, *, calls: int = CALLS_PER_HISTORY) -> None:
        """Run the policy on a history in its settings, and hold every law that still stands."""
        kept = False
        calls = max(calls, FEWEST_RUNS * len(transcript.calls))
        for run in self._sweep(transcript, calls=calls, turn=self.histories):
            self.runs += 1
            self.requests += len(run.requests)
            acted = sum(request.acted for _, request in run.requests)
            self.acted += acted
            for law in self.laws:
                if law.name not in self.broken and law.name != DETERMINISTIC:
                    broken = law.check(run)
                    if broken is not None:
                        self.broken[law.name] = Counterexample(run, broken)
            if acted and not kept and len(self._sample) < SAMPLE:
                self._sample.append(run)
                kept = True
        if not self._sample:
            self._sample.append(run)
        self.histories += 1

    def _sweep(self, transcript: Transcript, *, calls: int, turn: int) -> Iterable[Run]:
        return sweep(
            self.subject,
            transcript,
            terms=self.terms,
            budgets=self.budgets,
            calls=calls,
            turn=turn,
        )

    def repeat(self) -> None:
        """Hold the law of determinism: in this process first, then across PYTHONHASHSEED."""
        law = next((law for law in self.laws if law.name == DETERMINISTIC), None)
        if law is None:
            return
        self.across = f"two fresh policies in this process ({len(self._sample)} runs)"
        for run in self._sample:
            broken = law.check(run)
            if broken is not None:
                self.broken[law.name] = Counterexample(run, broken)
                return
        try:
            hits = self._differing(self._sample)
        except Unpicklable as error:
            self.across += f"; not across PYTHONHASHSEED: {error}"
            return
        self.across = f"two processes of different PYTHONHASHSEED ({len(self._sample)} runs)"
        if hits:
            self.broken[law.name] = _by_seed(self._sample[hits[0]])
            self._by_seed = True

    def _differing(self, runs: Sequence[Run]) -> list[int]:
        cases = [(run.transcript, run.setting) for run in runs]
        return differing(self.subject, self.terms, cases) if cases else []

    def shrunk(self, law: Law) -> Counterexample:
        """Return the counterexample of a broken law, made small."""
        found = self.broken[law.name]
        self._smallest = None
        by_seed = law.name == DETERMINISTIC and self._by_seed
        _, small = shrink(
            found.run.observed[found.broken.call].history,
            found,
            breaks=self._first_by_seed if by_seed else lambda tried: self._first(law, tried),
            rules=PROVIDERS[self.terms.provider],
            rounds=ROUNDS_BY_SEED if by_seed else ROUNDS,
        )
        return small

    def _first(self, law: Law, tried: Sequence[History]) -> tuple[int, Counterexample] | None:
        for place, history in enumerate(tried):
            for run in self._tries(law, history):
                broken = law.check(run)
                if broken is not None:
                    self._smallest = Counterexample(run, broken)
                    return place, self._smallest
        return None

    def _tries(self, law: Law, history: History) -> Iterator[Run]:
        """Run a smaller history where the larger one broke the law, and then in other settings."""
        last = (self._smallest or self.broken[law.name]).run
        transcript = as_transcript(history, tools=last.transcript.tools)
        budget = last.setting.budget
        settings = [last.setting]
        if budget is not None and "budget" in self.subject.takes:
            gone = _tokens(last.transcript, self.terms) - _tokens(transcript, self.terms)
            if 0 < gone < budget:
                settings.append(replace(last.setting, budget=budget - gone))
        for setting in settings:
            yield run_policy(self.subject, setting, terms=self.terms, transcript=transcript)
        calls = max(CALLS_PER_HISTORY, FEWEST_RUNS * len(transcript.calls))
        yield from self._sweep(transcript, calls=calls, turn=0)

    def _first_by_seed(self, tried: Sequence[History]) -> tuple[int, Counterexample] | None:
        first = self.broken[DETERMINISTIC].run
        runs = [
            run_policy(
                self.subject,
                first.setting,
                terms=self.terms,
                transcript=as_transcript(history, tools=first.transcript.tools),
            )
            for history in tried
        ]
        hits = self._differing(runs)
        return (hits[0], _by_seed(runs[hits[0]])) if hits else None


def _tokens(transcript: Transcript, terms: Terms) -> int:
    return terms.counter.count(transcript.messages, tools=transcript.tools)


def _by_seed(run: Run) -> Counterexample:
    what = "two processes of different PYTHONHASHSEED return different messages"
    return Counterexample(run, Broken(len(run.observed) - 1, what))
