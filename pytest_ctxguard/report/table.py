"""The policy table: one row per policy on one transcript, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from pytest_ctxguard.recall.answers import Answers
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.buckets import Buckets


@dataclass(frozen=True, slots=True)
class FactCell:
    """One fact under one policy.

    Attributes:
        carried: whether every probe request has the value.
        origin: where it comes from there, most direct first; empty if nowhere.
        answers: the model's answers, or ``None`` in the structure tier.
    """

    carried: bool
    origin: tuple[str, ...]
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
        }


@dataclass(frozen=True, slots=True)
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
    """

    policy: str
    billed: int
    final: int
    largest: int
    own_estimate: int | None
    buckets: Buckets
    facts: Mapping[str, FactCell]

    def as_json(self) -> dict[str, Any]:
        """Return the documented keys."""
        return {
            "policy": self.policy,
            "billed_input_tokens": self.billed,
            "final_tokens": self.final,
            "largest_request_tokens": self.largest,
            "largest_by_own_estimate": self.own_estimate,
            "buckets": asdict(self.buckets),
            "facts": {name: cell.as_json() for name, cell in self.facts.items()},
        }


def make_row(
    name: str, replay: Replay, *, policy: Any, answers: Mapping[str, Answers] | None
) -> Row:
    """Measure one replay.

    Args:
        name: the policy's name in the table.
        replay: what to measure.
        policy: the policy itself; its ``estimator``, if any, says what it believed.
        answers: fact name -> answers, or ``None`` in the structure tier.
    """
    requests = [step.request for step in replay.steps]
    estimator = getattr(policy, "estimator", None)
    facts = {}
    for fact in replay.transcript.facts:
        carried = replay.carried(fact.name)
        told = None if answers is None else answers[fact.name]
        facts[fact.name] = FactCell(carried.at("probe"), carried.sources, told)
    return Row(
        policy=name,
        billed=replay.tokens.billed,
        final=replay.tokens.final,
        largest=max(replay.tokens.by_call),
        own_estimate=estimator
        and max(estimator.request(r.messages, replay.transcript.tools) for r in requests),
        buckets=replay.buckets(),
        facts=facts,
    )


def table_json(transcript: str, rows: Sequence[Row], *, model: str | None) -> dict[str, Any]:
    """Return the table as the JSON value that ``table --json`` prints."""
    return {
        "transcript": transcript,
        "model": model,
        "policies": [row.as_json() for row in rows],
    }


def render_table(transcript: str, rows: Sequence[Row], *, budget: int, model: str | None) -> Table:
    """Return the table for a terminal."""
    answered = f"answered by {escape(model)}" if model else "structure tier, no model asked"
    table = Table(
        title=f"{escape(transcript)}, budget {budget:,} tokens; {answered}",
        caption="share: of full history's or the dearest policy's billed tokens. "
        "own estimate: the largest request as the policy itself estimated it.",
    )
    table.add_column("policy", no_wrap=True)
    for head in ("billed", "share", "final", "largest", "own estimate"):
        table.add_column(head, justify="right", overflow="fold")  # an ellipsis would eat digits
    table.add_column("system / tools / results / talk", justify="right", overflow="fold")
    for name in rows[0].facts:
        table.add_column(escape(name), overflow="fold")
    dearest = max(row.billed for row in rows)
    for row in rows:
        parts = row.buckets
        table.add_row(
            escape(row.policy),
            f"{row.billed:,}",
            f"{row.billed / dearest:.0%}",
            f"{row.final:,}",
            _against(row.largest, budget),
            "" if row.own_estimate is None else _against(row.own_estimate, budget),
            f"{parts.system} / {parts.tools} / {parts.tool_results} / {parts.conversation}",
            *(_cell(cell) for cell in row.facts.values()),
        )
    return table


def _against(tokens: int, budget: int) -> str:
    over = tokens - budget
    return f"{tokens:,} (+{over:,})" if over > 0 else f"{tokens:,}"


def _cell(cell: FactCell) -> str:
    kept = f"carried ({', '.join(cell.origin)})" if cell.carried else "dropped"
    if cell.answers is None:
        return kept
    misses = ", ".join(f"{n} {name}" for name, n in cell.answers.outcomes.items() if name != "hit")
    score = f"{cell.answers.hits}/{len(cell.answers.usable)} answered"
    return f"{kept}\n{score}" + (f"\n{misses}" if misses else "")
