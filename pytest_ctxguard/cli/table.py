"""``pytest-ctxguard table``: what each policy costs, keeps and answers on one transcript."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from time import monotonic

import click

from pytest_ctxguard.cli.asking import Means, means
from pytest_ctxguard.cli.options import BUDGET, COUNTER, FRESH, MODEL, TRANSCRIPTS
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.catalogue import Entry, Setting, policy_named, reference_policies
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.recall.answers import Answers, questions
from pytest_ctxguard.recall.summarising import SUMMARY_TOKENS
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.report.tables.table import PolicyTable, make_row
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.counters.choosing import counter
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.library import find


@click.command()
@click.argument("transcript")
@click.option("--policy", "names", multiple=True, metavar="NAME", help="A policy; repeatable.")
@click.option("--policies", type=click.Choice(["all"]), help="Every reference policy.")
@BUDGET
@click.option(
    "--tier",
    type=click.Choice(["structure", "model"]),
    default="model",
    show_default=True,
    help="structure asks no model.",
)
@MODEL
@click.option(
    "--summary-tokens",
    type=click.IntRange(min=1),
    default=SUMMARY_TOKENS,
    show_default=True,
    help="Longest summary of the policies that summarise.",
)
@TRANSCRIPTS
@COUNTER
@FRESH
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def table(
    transcript: str,
    names: tuple[str, ...],
    policies: str | None,
    budget: int,
    tier: str,
    model: str | None,
    summary_tokens: int,
    transcripts: tuple[Path, ...],
    counter_name: str,
    fresh: bool,
    as_json: bool,
) -> None:
    """Compare policies on TRANSCRIPT, a built-in name or a .jsonl file.

    Per policy: billed input tokens over all calls, what its summariser took, tokens of the last
    request and where they go, and for each planted fact whether it was still sent and how often
    the model gave it. Summaries are written by the model, too.
    """
    chosen = _choose(names, everything=policies == "all")
    left_out: tuple[str, ...] = ()
    if tier == "structure":
        left_out = _summarising(chosen, named=names)
    encoder = RequestEncoder()  # the model's, whatever counts
    counting = encoder if counter_name == "qwen2.5" else counter(counter_name)
    setting = Setting(find(transcript, folders=transcripts), budget)
    asking = means(model, encoder=encoder, summary_tokens=summary_tokens, fresh=fresh)
    with nullcontext() if tier == "structure" else asking as asked:
        started = monotonic()
        replayed = [
            _replay(entry, setting, counting, asked=asked)
            for name, entry in chosen.items()
            if name not in left_out
        ]
        answers = _ask([each.replay for each in replayed], asked) if asked else None
        made = PolicyTable(
            transcript=setting.transcript.name,
            budget=budget,
            counter=counting.name,
            rows=[
                make_row(
                    each.replay,
                    policy=each.policy,
                    answers=answers[each.replay.label] if answers else None,
                    summariser=each.summariser,
                )
                for each in replayed
            ],
            model=asked.model if asked else None,
            left_out=left_out,
            spent=asked.asker.spent if asked else None,
            seconds=monotonic() - started,
        )
    _print(made, as_json=as_json)


def _choose(names: Sequence[str], *, everything: bool) -> Mapping[str, Entry]:
    """Return the policies asked for; all of them when none is named."""
    known = reference_policies()
    named = {name: policy_named(name, known) for name in names}
    return known if everything or not names else named


def _summarising(chosen: Mapping[str, Entry], *, named: Sequence[str]) -> tuple[str, ...]:
    """Return the policies that need a summariser, and so a model.

    Raises:
        UsageError: one of them was asked for by name.
    """
    found = tuple(name for name, entry in chosen.items() if entry.summarises)
    for name in found:
        if name in named:
            raise UsageError(
                f"policy {name!r} needs a summariser, which is the model; --tier structure asks "
                "none"
            )
    return found


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A replay, the policy as it stands after it, and the name of what summarised for it."""

    replay: Replay
    policy: Policy
    summariser: str | None


def _replay(entry: Entry, setting: Setting, counting: Counter, *, asked: Means | None) -> _Replayed:
    policy = entry.make(setting)
    summariser = asked.summariser if asked and entry.summarises else None
    plan = Plan(
        transcript=setting.transcript,
        policy=policy,
        counter=counting,
        budget=setting.budget,
        summariser=summariser,
        label=entry.name,
    )
    return _Replayed(run(plan), policy, summariser.name if summariser else None)


def _ask(replays: Sequence[Replay], asked: Means) -> Mapping[str, Mapping[str, Answers]]:
    """Ask every probe and control; returns policy -> fact -> answers."""
    facts = [fact.name for fact in replays[0].transcript.facts]
    pairs = list(product(replays, facts))
    every = [questions(replay, fact, controls="all").values() for replay, fact in pairs]
    flat = tuple(chain.from_iterable(chain.from_iterable(every)))
    asked.asker.ask(flat, label="asking for the facts")  # together, for their common beginnings
    return {
        replay.label: {
            fact: asked.interviewer.answers(replay, fact, controls="all") for fact in facts
        }
        for replay in replays
    }


def _print(made: PolicyTable, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(made.as_json(), indent=2))
        return
    from pytest_ctxguard.cli.printing import show
    from pytest_ctxguard.report.tables.table_text import render_table

    show([render_table(made)])
