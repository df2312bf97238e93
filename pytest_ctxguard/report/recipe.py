"""How to see a failure again: what to look at, and one command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.recall.needles.values import Recall
from pytest_ctxguard.recall.needles.values import Trial as Needle
from pytest_ctxguard.replay.values import Replay

SHOWN = 3  # trials that a recipe names
WIDTH = 10
HIT = "hit"


def again_command(nodeid: str, *, options: Sequence[str] = ()) -> str:
    """Return the command that runs one test again, quoted for a shell.

    Args:
        nodeid: of the test, as pytest is to be given it.
        options: that the run was given and that its results depend on.
    """
    return shlex.join(["pytest", "--ctxguard", *options, nodeid])


def accept_command(nodeid: str) -> str:
    """Return the command that accepts what a test measured, with a reason."""
    return f'pytest-ctxguard accept {shlex.quote(nodeid)} --reason "…"'


def replay_recipe(replay: Replay, judgements: Sequence[Judgement]) -> Iterator[str]:
    """Yield what a broken replay is of, and each wording that was missed; of a kept one, nothing.

    Args:
        replay: the replay.
        judgements: what was judged of it.
    """
    broken = [judgement for judgement in judgements if judgement.verdict != "pass"]
    if not broken:
        return
    yield row("replay", _of(f"transcript {replay.transcript.name}", replay, replay.counter.name))
    missed = missed_wordings(replay, broken)
    for (fact, number), outcome in list(missed.items())[:SHOWN]:
        wording = replay.transcript.fact(fact).wordings[number]
        yield row("probe", f"{fact}/{number + 1} {outcome}: {wording!r}")
    yield from _more(len(missed), "wordings")


def missed_wordings(replay: Replay, broken: Sequence[Judgement]) -> dict[tuple[str, int], str]:
    """Return (fact, number of the wording from 0) -> outcome, for all but the hits.

    Args:
        replay: the replay.
        broken: judgements that do not pass.
    """
    found = {}
    for fact in replay.transcript.facts:
        for judgement in broken:
            metric = judgement.metrics.get(f"answered.{fact.name}")
            for id_, outcome in (metric.trials or {}).items() if metric is not None else ():
                if outcome != HIT:
                    found[fact.name, int(id_.rpartition("/")[2]) - 1] = outcome
    return found


def recall_recipe(recall: Recall, judgements: Sequence[Judgement]) -> Iterator[str]:
    """Yield what a broken recall is of, and what rebuilds each missed trial's prompt."""
    if all(judgement.verdict == "pass" for judgement in judgements):
        return
    sample = recall.sample
    seed = "" if sample.seed is None else f", seed {sample.seed}"
    yield row("recall", _of(f"haystack {sample.haystack}{seed}", recall, recall.counter))
    missed = missed_needles(recall)
    for trial in missed[:SHOWN]:
        yield row("trial", f"{trial.id} {trial.outcome}, {carried_text(trial)}")
        if trial.recipe != trial.id:
            yield row("rebuild", f"pytest-ctxguard recall rebuild {shlex.quote(trial.recipe)}")
    yield from _more(len(missed), "trials")


def missed_needles(recall: Recall) -> tuple[Needle, ...]:
    """Return the trials of a recall that are no hits, in order."""
    return tuple(trial for trial in recall.trials if trial.outcome != HIT)


def carried_text(trial: Needle) -> str:
    """Return where a trial's value stands in the request."""
    return f"carried ({', '.join(trial.sources)})" if trial.carried else "not carried"


def row(name: str, text: str) -> str:
    """Return a row of a recipe."""
    return f"{name:<{WIDTH}}{text}"


def _of(what: str, made: Replay | Recall, counter: str) -> str:
    label = f" [{made.label}]" if made.label else ""
    budget = f", budget {made.budget:,}" if made.budget else ""
    return f"{what}, policy {made.policy}{label}{budget}, tokens by {counter}"


def _more(number: int, what: str) -> Iterator[str]:
    if number > SHOWN:
        yield row("", f"{number - SHOWN} more {what} were missed")
