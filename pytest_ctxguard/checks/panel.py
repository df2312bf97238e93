"""What checks say about a panel: the wordings of a fact, as asked."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ctxguard.recall.answers import PANEL, Answers, Trial

QUOTED = 60


def came_to(trial: Trial) -> str:
    """Return a trial's id and what it came to."""
    if not trial.controls.usable:
        return f"{trial.id} unusable"
    call = f" ({_words(trial.called)})" if trial.called not in ("", "right") else ""
    return f"{trial.id} {trial.outcome}{call}"


def quote(trial: Trial) -> str:
    """Return what a trial came to, and the beginning of the answer."""
    return f"{came_to(trial)}: {shortened(trial.text)!r}"


def shortened(text: str) -> str:
    """Return the beginning of an answer, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else line[: QUOTED - 1] + "…"


def unusable(answers: Answers) -> str:
    """Return the wordings that measure nothing, with the reason."""
    bad = (trial for trial in answers.trials if not trial.controls.usable)
    return ", ".join(f"{trial.id} {trial.controls.reason}" for trial in bad)


def summed_up(answers: Answers) -> str:
    """Return a panel with usable wordings in one line: outcomes, and what to know of them."""
    return "; ".join(_parts(answers))


def _parts(answers: Answers) -> Iterator[str]:
    usable = answers.usable
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in answers.outcomes.items())
    yield f"{answers.hits} of {len(usable)} usable wordings ({outcomes})"
    calls = answers.called
    if set(calls) - {"", "right"}:
        yield "calls: " + ", ".join(f"{n} {_words(called)}" for called, n in calls.items())
    if len(usable) < len(answers.trials):
        yield f"{len(answers.trials) - len(usable)} unusable: {unusable(answers)}"
    free = answers.without_overlap
    if free:
        hits = sum(trial.outcome == "hit" for trial in free)
        yield f"{hits} of {len(free)} without a shared word"
    else:
        yield "none without a shared word"
    if len(answers.trials) < PANEL:
        yield f"{len(answers.trials)} wordings, a panel has {PANEL} or more"
    yield from _controls(answers)


def _controls(answers: Answers) -> Iterator[str]:
    """Yield the hits in each control, of all wordings, where every control was run."""
    hits = answers.controls
    if hits.restated is None:
        return
    yield (
        f"controls, of {hits.of}: full {hits.full}, alone {hits.alone}, "
        f"without {hits.without}, restated {hits.restated}, unstable {hits.unstable}"
    )
    share = "none to win" if hits.normalised is None else f"{hits.normalised:.2f}"
    yield f"normalised {share}"


def _words(called: str) -> str:
    return called.replace("_", " ")
