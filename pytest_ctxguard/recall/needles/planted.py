"""Needles planted in a recorded transcript, where a policy has a session to cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.recipe import VERSION
from pytest_ctxguard.recall.needles.sample import Planned, Sample
from pytest_ctxguard.replay.values import digest
from pytest_ctxguard.transcript.model import Fact, ToolProbe, Transcript
from pytest_ctxguard.transcript.placing import Plant, Size
from pytest_ctxguard.transcript.plant_files import read_plant
from pytest_ctxguard.transcript.planting import plant
from pytest_ctxguard.transcript.replicating import Planted, PlantedTrial, Values, plant_many

KIND = "planted"
EXAMPLE = f'{KIND}:{VERSION}:{{"transcript": "incident-40", "plant": {{…}}}}'


@dataclass(frozen=True, slots=True)
class Given:
    """A trial that is planted already.

    Attributes:
        recipe: what rebuilds it, or its id where that is not known.
        transcript: with its fact alone, asked for in one wording.
    """

    recipe: str
    transcript: Transcript

    def __str__(self) -> str:
        return self.recipe


@dataclass(frozen=True)
class PlantRecipe:
    """A trial of one fact, planted in a transcript at a depth.

    Its line is JSON after ``planted:v1:``, without apostrophes, so that a shell can quote it.

    Attributes:
        source: the transcript's name or path.
        fact: with its value and depth.
        load: gives the transcript of a name or path.
        count: measures depth.
    """

    source: str
    fact: Plant
    load: Callable[[str], Transcript]
    count: Size

    def __str__(self) -> str:
        line = json.dumps({"transcript": self.source, "plant": _row(self.fact)})
        return f"{KIND}:{VERSION}:{line}".replace("'", "\\u0027")

    @cached_property
    def transcript(self) -> Transcript:
        """The session with the fact planted, asked for in its first wording."""
        whole = plant(self.load(self.source), self.fact, count=self.count)
        return one_wording(whole, whole.fact(self.fact.name))


def parse_plant_recipe(text: str, *, load: Callable[[str], Transcript], count: Size) -> PlantRecipe:
    """Return the recipe that a line spells.

    Args:
        text: the line.
        load: gives the transcript of a name or path.
        count: measures depth; the counter that it was made with.

    Raises:
        UsageError: it is none; says what of it is wrong.
    """
    kind, version, line = [*text.strip().split(":", 2), "", ""][:3]

    def fail(what: str) -> UsageError:
        return UsageError(f"{text!r} is no recipe: {what}. A recipe reads: {EXAMPLE}")

    if kind != KIND or version != VERSION:
        raise fail(f"it does not begin with {KIND}:{VERSION}:")
    try:
        row = json.loads(line)
    except ValueError as error:
        raise fail(f"it does not end in JSON ({error})") from None
    if not isinstance(row, dict) or row.keys() != {"transcript", "plant"}:
        raise fail("its JSON is not an object with `transcript` and `plant`")
    if not isinstance(row["transcript"], str):
        raise fail("`transcript` is not a text")
    return PlantRecipe(row["transcript"], read_plant(row["plant"], fail), load, count)


def planted_sample(planted: Planted) -> Sample:
    """Return the trials of a fact that was replicated over values and places, as one cell.

    Raises:
        UsageError: there are none.
    """
    if not len(planted):
        raise UsageError("this Planted has no trials; plant_many(…, trials=32) makes some")
    first = planted[0]
    name = first.transcript.name
    return Sample(
        haystack=name,
        population=f"{first.fact!r} in {name}, its values and places drawn by plant_many",
        cells=(
            Planned(name="", needles={each.id: _given(each, recipe=each.id) for each in planted}),
        ),
        fingerprint={
            "haystack": digest([[each.transcript.messages for each in planted]]),
            "fact": digest([str(each.transcript.fact(each.fact)) for each in planted]),
            "seed": str(planted.seed),
        },
    )


def planted_at_depths(
    source: str,
    fact: Plant,
    *,
    load: Callable[[str], Transcript],
    values: Values,
    depths: Sequence[float],
    trials: int,
    seed: int,
    count: Size,
) -> Sample:
    """Return trials of a fact planted in a transcript: a cell for each depth, on the same values.

    Args:
        source: the transcript's name or path.
        fact: without value and place.
        load: gives the transcript.
        values: to draw from, or a function that draws one; trial ``k`` of every cell has the
            same.
        depths: in tokens: 0 the start, 1 the end.
        trials: per cell.
        seed: of the draws.
        count: measures depth: the tokens of a list of messages.

    Raises:
        UsageError: a fact or a place that is none, or two depths at one message.
    """
    transcript = load(source)
    cells, taken = [], dict[int, float]()
    for depth in depths:
        drawn = plant_many(
            transcript, fact, values=values, depths=(depth,), trials=trials, seed=seed, count=count
        )
        at = drawn[0].transcript.fact(fact.name).planted_at
        if at in taken:
            raise UsageError(
                f"depths {taken[at]} and {depth} are the same message of {transcript.name}, so two "
                "cells would ask the same; take fewer depths"
            )
        taken[at] = depth
        name = f"depth={depth}"
        needles = {}
        for k, each in enumerate(drawn):
            recipe = PlantRecipe(source, replace(fact, value=each.value, depth=depth), load, count)
            needles[f"{name}:trial={k}"] = _given(each, recipe=str(recipe))
        cells.append(Planned(name=name, needles=needles, depth=depth))
    return Sample(
        haystack=transcript.name,
        population=f"{fact.name!r} in {transcript.name}, its values drawn",
        cells=tuple(cells),
        fingerprint={
            "haystack": digest([transcript.messages, transcript.tools]),
            "fact": digest(_row(fact)),
            "values": digest([each.value for each in drawn]),
            "seed": str(seed),
        },
        seed=seed,
    )


def one_wording(transcript: Transcript, fact: Fact) -> Transcript:
    """Return a transcript with one of its facts alone, asked for in its first wording.

    Other wordings of a fact are no further draws of it, so a trial has one.
    """
    return replace(transcript, facts=(replace(fact, wordings=fact.wordings[:1]),))


def _given(trial: PlantedTrial, *, recipe: str) -> Given:
    return Given(recipe, one_wording(trial.transcript, trial.transcript.fact(trial.fact)))


def _row(fact: Plant) -> dict[str, Any]:
    """Return the JSON object of a plant; what is the default is left out."""
    row = {}
    for field in fields(Plant):
        value = getattr(fact, field.name)
        if value != field.default:
            row[field.name] = (
                asdict(value)
                if isinstance(value, ToolProbe)
                else list(value)
                if isinstance(value, tuple)
                else value
            )
    return row
