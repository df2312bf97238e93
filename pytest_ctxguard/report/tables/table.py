"""The policy table: one row per policy on one transcript, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.recall.asking import Spent
from pytest_ctxguard.replay.calls import SummaryUse
from pytest_ctxguard.replay.fate import Fate
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.buckets import Buckets


@dataclass(frozen=True, slots=True)
class FactCell:
    """One fact under one policy.

    Attributes:
        carried: whether every probe request has the value.
        origin: where it comes from there, most direct first; empty if nowhere.
        fate: what became of it when summaries took the place of its message.
        answers: the model's answers, or ``None`` in the structure tier.
    """

    carried: bool
    origin: tuple[str, ...]
    fate: Fate
    answers: Answers | None

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        answers = self.answers
        return {
            "carried": self.carried,
            "origin": ", ".join(self.origin) or None,
            "answered": None if answers is None else answers.hits,
            "of": None if answers is None else len(answers.usable),
            "outcomes": {} if answers is None else dict(answers.outcomes),
            "abstained": None if answers is None else answers.outcomes.get("abstained", 0),
            "misses": [] if answers is None else _misses(answers),
            "without_shared_word": None if answers is None else _without_shared_word(answers),
            "calls": {} if answers is None else dict(answers.called),
            "fate": self.fate.state,
            "summaries": [asdict(told) for told in self.fate.summaries],
        }


def _without_shared_word(answers: Answers) -> dict[str, int]:
    trials = answers.without_overlap
    return {"answered": sum(trial.outcome == "hit" for trial in trials), "of": len(trials)}


def _misses(answers: Answers) -> list[dict[str, str]]:
    return [
        {
            "trial": trial.id,
            "wording": trial.wording,
            "outcome": trial.outcome,
            "answer": trial.text,
        }
        for trial in answers.usable
        if trial.outcome != "hit"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One policy on one transcript.

    Attributes:
        policy: its name in the catalogue.
        billed: input tokens over all calls.
        final: tokens of the last request.
        largest: tokens of the largest request.
        own_estimate: the largest request by the policy's own estimator, if it has one.
        buckets: tokens of the last request by what they carry.
        facts: fact name -> its cell.
        summariser: name of what summarised; ``None``: nothing did.
        summaries: what it took at the calls.
        probe_summaries: what it took for the probes.
    """

    policy: str
    billed: int
    final: int
    largest: int
    own_estimate: int | None
    buckets: Buckets
    facts: Mapping[str, FactCell]
    summariser: str | None = None
    summaries: SummaryUse = field(default_factory=SummaryUse)
    probe_summaries: SummaryUse = field(default_factory=SummaryUse)

    @property
    def total(self) -> int:
        """All input tokens: those billed, and what the summariser was shown at the calls."""
        return self.billed + self.summaries.input

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        return {
            "policy": self.policy,
            "billed_input_tokens": self.billed,
            "summariser": self.summariser,
            "summariser_tokens": None if self.summariser is None else _taken(self.summaries),
            "summariser_tokens_at_probes": None
            if self.summariser is None
            else _taken(self.probe_summaries),
            "total_input_tokens": self.total,
            "final_tokens": self.final,
            "largest_request_tokens": self.largest,
            "largest_by_own_estimate": self.own_estimate,
            "buckets": asdict(self.buckets),
            "facts": {name: cell.as_json() for name, cell in self.facts.items()},
            "controls": {
                name: _controls(cell.answers) for name, cell in self.facts.items() if cell.answers
            },
        }


def _controls(answers: Answers) -> dict[str, Any]:
    unusable = {t.wording: t.controls.reason for t in answers.trials if not t.controls.usable}
    return {
        **asdict(answers.controls),
        "normalised": answers.normalised,
        "unusable": unusable,
    }


def _taken(use: SummaryUse) -> dict[str, Any]:
    return {
        "input": use.input,
        "output": use.output,
        "calls": use.calls,
        "stopped_at_length": use.at_length,
        "failed": dict(use.failed),
    }


def make_row(
    replay: Replay,
    *,
    policy: Any,
    answers: Mapping[str, Answers] | None,
    summariser: str | None = None,
) -> Row:
    """Measure one replay.

    Args:
        replay: what to measure; its label is the policy's name in the table.
        policy: the policy itself; its ``estimator``, if any, says what it believed.
        answers: fact name -> answers, or ``None`` in the structure tier.
        summariser: name of what summarised for it, if anything did.
    """
    requests = [step.request for step in replay.steps]
    estimator = getattr(policy, "estimator", None)
    facts = {}
    for fact in replay.transcript.facts:
        carried = replay.carried(fact.name)
        facts[fact.name] = FactCell(
            carried=carried.at("probe"),
            origin=carried.sources,
            fate=replay.fate(fact.name),
            answers=None if answers is None else answers[fact.name],
        )
    return Row(
        policy=replay.label,
        billed=replay.tokens.billed,
        final=replay.tokens.final,
        largest=max(replay.tokens.by_call),
        own_estimate=estimator
        and max(estimator.request(r.messages, replay.transcript.tools) for r in requests),
        buckets=replay.buckets(),
        facts=facts,
        summariser=summariser,
        summaries=replay.summary_use,
        probe_summaries=replay.probe_summary_use,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTable:
    """The policies of one transcript, compared.

    Attributes:
        transcript: its name.
        budget: tokens the policies were asked to stay within.
        counter: name of what counted.
        rows: one per policy.
        model: identity of what answered; ``None`` in the structure tier.
        left_out: policies that need a summariser, where there was none.
        spent: what asking took, summaries included; ``None`` in the structure tier.
        seconds: wall time of the replays and the asking.
    """

    transcript: str
    budget: int
    counter: str
    rows: Sequence[Row]
    model: str | None = None
    left_out: Sequence[str] = ()
    spent: Spent | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return what ``table --json`` prints."""
        return {
            "transcript": self.transcript,
            "budget": self.budget,
            "counter": self.counter,
            "model": self.model,
            "policies": [row.as_json() for row in self.rows],
            "left_out": list(self.left_out),
            "spent": None if self.spent is None else asdict(self.spent),
            "seconds": round(self.seconds, 1),
        }
