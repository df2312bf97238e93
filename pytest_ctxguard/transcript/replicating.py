"""One fact replicated over drawn values and places, so that a rate over trials means something."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ctxguard.drawing import below
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, full_text
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.placing import SLOT, Plant, Sentence, Size
from pytest_ctxguard.transcript.planting import plant

Values = Sequence[str] | Callable[[random.Random], str]
TRIES = 1000  # draws of one value before the generator is taken to have no other


@dataclass(frozen=True, slots=True)
class PlantedTrial:
    """One of many transcripts that differ in what was planted in them, and where.

    Attributes:
        id: stable for a generator and its seed, such as ``shard#00``.
        transcript: with the fact planted and declared.
        fact: its name there.
    """

    id: str
    transcript: Transcript
    fact: str

    @property
    def value(self) -> str:
        """What was planted."""
        return self.transcript.fact(self.fact).value

    @property
    def turn(self) -> int:
        """The turn it stands in, from 1; 0: before the first."""
        at = self.transcript.fact(self.fact).planted_at
        return sum(turn.start <= at for turn in self.transcript.turns)


@dataclass(frozen=True, slots=True)
class Planted:
    """The trials of one fact; a sequence.

    Attributes:
        trials: each with its own value and place.
        seed: what they were drawn with.
    """

    trials: tuple[PlantedTrial, ...]
    seed: int | str

    def __iter__(self) -> Iterator[PlantedTrial]:
        """Yield the trials in order."""
        return iter(self.trials)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.trials)

    def __getitem__(self, number: int) -> PlantedTrial:
        """Return a trial by its number, from 0."""
        return self.trials[number]


def plant_many(
    transcript: Transcript,
    fact: Plant,
    *,
    values: Values,
    turns: Sequence[int] = (),
    depths: Sequence[float] = (),
    trials: int | None = None,
    look_alikes: int = 0,
    look_alike_text: str = "",
    seed: int | str = 0,
    count: Size = len,
) -> Planted:
    """Plant one fact many times: in each trial another value, at a drawn turn or depth.

    Places are used equally often, in a drawn order. Ids are ``name#00``, ``name#01``, …; the
    first trials of a seed do not depend on how many follow.

    Args:
        transcript: the recording.
        fact: without a value; and without a place, where places are given.
        values: a sequence to draw from, each used once, or a function that draws one.
        turns: the turns it may stand in, from 1.
        depths: instead, the depths.
        trials: how many; default: as many as there are values.
        look_alikes: how many more values each trial says besides, drawn alike, at drawn places.
        look_alike_text: how they are said, with ``{value}``.
        seed: of the draws.
        count: measures depth, as for :func:`plant`.

    Raises:
        UsageError: an argument that is none, too few values, or what :func:`plant` refuses.
    """
    _check(fact, turns=turns, depths=depths)
    if look_alikes < 0 or bool(look_alikes) != bool(look_alike_text):
        raise UsageError("look_alikes= (how many) and look_alike_text= (how) go together")
    if look_alike_text and SLOT not in look_alike_text:
        raise UsageError(f"look_alike_text {look_alike_text!r} has no {SLOT}")
    drawing = _Drawing(fact, values, transcript)
    places = _places(fact, turns=turns, depths=depths)
    size = _remembered(count)
    used = set[str]()
    made = []
    for number in range(_number(trials, values)):
        rng = random.Random(f"{seed}/{number}")  # noqa: S311 - a sample, no secret
        value = drawing.one(rng, apart=used)
        used.add(value)
        others: list[str] = []
        for _ in range(look_alikes):
            others.append(drawing.one(rng, apart={value, *others}))
        besides = [
            Sentence(
                text=look_alike_text.replace(SLOT, other),
                level=fact.level,
                reply=fact.reply,
                **places[below(rng, len(places))],
            )
            for other in others
        ]
        here = places[_order(seed, number // len(places), len(places))[number % len(places)]]
        stated = replace(fact, value=value, look_alikes=(*fact.look_alikes, *others), **here)
        planted = plant(transcript, stated, look_alikes=besides, count=size)
        made.append(PlantedTrial(f"{fact.name}#{number:02d}", planted, fact.name))
    return Planted(tuple(made), seed)


class _Drawing:
    """Draws values, none of which stands in the transcript."""

    def __init__(self, fact: Plant, values: Values, transcript: Transcript) -> None:
        self._fact, self._values = fact, values
        self._said = "\n".join(map(full_text, transcript.messages))
        if not callable(values) and not _are_texts(values):
            raise UsageError(f"values={values!r}: give texts, each once, or a function that draws")

    def one(self, rng: random.Random, *, apart: Collection[str]) -> str:
        """Return a value that is none of those it must be told apart from."""
        if not callable(self._values):
            left = [value for value in self._values if value not in apart]
            if not left:
                raise UsageError(
                    f"{len(self._values)} values are too few for the look-alikes of each trial"
                )
            return left[below(rng, len(left))]
        for _ in range(TRIES):
            value = self._values(rng)
            if not isinstance(value, str) or not value:
                raise UsageError(f"values= drew {value!r}; it must return a text, and not empty")
            if value not in apart and not self._is_said(value):
                return value
        raise UsageError(
            f"values= drew nothing new in {TRIES} tries, beside {len(apart)} values drawn before "
            "and what stands in the transcript. Let it draw from more."
        )

    def _is_said(self, value: str) -> bool:
        fact = replace(self._fact, value=value).fact(planted_at=0, asked_at=None)
        return fact.finds(value, self._said)


def _are_texts(values: object) -> bool:
    """Tell whether values are a sequence of texts, none of them empty or there twice."""
    return (
        isinstance(values, Sequence)
        and not isinstance(values, str)
        and all(isinstance(value, str) and value for value in values)
        and 0 < len(set(values)) == len(values)
    )


def _check(fact: Plant, *, turns: Sequence[int], depths: Sequence[float]) -> None:
    if fact.value:
        raise UsageError(f"plant {fact.name!r} has a value; values= are drawn, so leave it out")
    if turns and depths:
        raise UsageError("turns= and depths= both say where; give one")
    if (turns or depths) and (fact.turn is not None or fact.depth is not None):
        raise UsageError(f"plant {fact.name!r} has a place; turns= or depths= say where")
    for name, places in (("turns", turns), ("depths", depths)):
        if len(set(places)) < len(places):
            raise UsageError(f"{name}={places!r}: each once; places are used equally often")


def _number(trials: int | None, values: Values) -> int:
    if callable(values):
        if trials is None:
            raise UsageError("trials= says how many values are drawn; a function has no end")
    elif trials is None:
        trials = len(values)
    elif trials > len(values):
        raise UsageError(f"trials={trials}: there are {len(values)} values, each for one trial")
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise UsageError(f"trials={trials!r}: a number of trials is 1 or more")
    return trials


def _places(
    fact: Plant, *, turns: Sequence[int], depths: Sequence[float]
) -> tuple[dict[str, Any], ...]:
    if turns:
        return tuple({"turn": turn} for turn in turns)
    if depths:
        return tuple({"depth": depth} for depth in depths)
    return ({"turn": fact.turn, "depth": fact.depth},)


def _order(seed: int | str, block: int, places: int) -> list[int]:
    """Return the places of a block of trials in a drawn order, by ``random()`` alone."""
    rng = random.Random(f"{seed}/places/{block}")  # noqa: S311 - a sample, no secret
    keys = [rng.random() for _ in range(places)]
    return sorted(range(places), key=keys.__getitem__)


def _remembered(count: Size) -> Size:
    """Return a measure of beginnings of one list of messages that measures each once."""
    sizes: dict[int, int] = {}

    def size(messages: Sequence[Message]) -> int:
        if len(messages) not in sizes:
            sizes[len(messages)] = count(messages)
        return sizes[len(messages)]

    return size
