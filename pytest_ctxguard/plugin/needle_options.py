"""What a test gives ``ctx_recall``, and the sample it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.recall.needles.depths import Spacing, given_depths
from pytest_ctxguard.recall.needles.haystack import Layout
from pytest_ctxguard.recall.needles.planted import planted_at_depths, planted_sample
from pytest_ctxguard.recall.needles.recipe import HAYSTACKS
from pytest_ctxguard.recall.needles.sample import Sample, drawn
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.tokens.counters.choosing import CounterSource
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.placing import Plant, Size
from pytest_ctxguard.transcript.replicating import Planted, Values

RECORDS = 25
UNDER = ("haystack", "budget", "counter", "summariser", "name", "judged", "curtail",
         "expect_identity")  # fmt: skip
CELLS = ("depths", "spacing", "trials", "seed")
DRAWN = ("records", "lengths", "layout", "look_alikes")
PLANTED = ("fact", "values")
FLAGS = ("judged", "curtail", "expect_identity")


class RecallOptions(TypedDict, total=False):
    """The options of the fixture; ``None`` is what is left out."""

    haystack: str | Path | Transcript | Planted
    records: int | None
    depths: int | float | Sequence[float] | None
    lengths: Sequence[int] | None
    trials: int | None
    seed: int | None
    spacing: Spacing | None
    layout: Layout | None
    look_alikes: int | None
    fact: Plant | None
    values: Values | None
    budget: int | None
    counter: CounterSource | None
    summariser: Summariser | None
    name: str | None
    judged: bool
    curtail: bool
    expect_identity: bool


def make_sample(
    options: RecallOptions,
    *,
    trials: int,
    seed: int,
    load: Callable[[str | Path | Transcript], Transcript],
    count: Size,
) -> Sample:
    """Return the sample that a test's options name.

    Args:
        options: the test's.
        trials: per cell, as call, mark or default have it.
        seed: as command line, call or default have it.
        load: gives a transcript by name or path.
        count: measures depth in a transcript, in tokens.

    Raises:
        UsageError: options that are none, or do not go together.
    """
    _check_types(options)
    haystack = options.get("haystack", "register")
    if isinstance(haystack, Planted):
        _check_names(options, UNDER, of="a Planted, which has its trials")
        return planted_sample(haystack)
    depths = options.get("depths")
    spacing = options.get("spacing") or "linear"
    placed = given_depths((0.5,) if depths is None else depths, spacing=spacing)
    fact, values = options.get("fact"), options.get("values")
    if isinstance(haystack, str) and haystack in HAYSTACKS:
        _check_names(options, (*UNDER, *CELLS, *DRAWN), of=f"haystack={haystack!r}")
        return drawn(
            haystack,
            records=_lengths(options),
            depths=placed,
            trials=trials,
            seed=seed,
            layout=options.get("layout") or "message",
            look_alikes=options.get("look_alikes"),
        )
    _check_names(options, (*UNDER, *CELLS, *PLANTED), of="a transcript as haystack")
    if not isinstance(fact, Plant) or values is None:
        others = f"no haystack is named {haystack!r}; there are: {', '.join(HAYSTACKS)}. "
        raise UsageError(
            f"ctx_recall: {others if isinstance(haystack, str) else ''}A transcript as haystack "
            "needs fact=Plant(…), without value and place, and values= to draw from"
        )
    source = haystack.name if isinstance(haystack, Transcript) else str(haystack)
    return planted_at_depths(
        source,
        fact,
        load=lambda _: load(haystack),
        values=values,
        depths=placed,
        trials=trials,
        seed=seed,
        count=count,
    )


def _lengths(options: RecallOptions) -> Sequence[int]:
    records, lengths = options.get("records"), options.get("lengths")
    if lengths is None:
        return (RECORDS if records is None else records,)
    if records is not None:
        raise UsageError("ctx_recall: records= is one length, lengths= are several; give one")
    if not isinstance(lengths, Sequence) or isinstance(lengths, str):
        raise UsageError(f"ctx_recall: lengths={lengths!r}: give a list of numbers of records")
    return lengths


def _check_types(options: RecallOptions) -> None:
    """Refuse what would be taken for something else: any text is true, ``"no"`` as well."""
    haystack, name = options.get("haystack", ""), options.get("name")
    if not isinstance(haystack, str | Path | Transcript | Planted):
        raise UsageError(
            f"ctx_recall: haystack={haystack!r}: give {', '.join(map(repr, HAYSTACKS))}, a "
            "transcript (name, path or value), or what plant_many returns"
        )
    if name is not None and not isinstance(name, str):
        raise UsageError(f"ctx_recall: name={name!r} is no text")
    for flag in FLAGS:
        if not isinstance(value := options.get(flag, False), bool):
            raise UsageError(f"ctx_recall: {flag}={value!r} is neither True nor False")


def _check_names(options: RecallOptions, allowed: Iterable[str], *, of: str) -> None:
    """Refuse an option that does not exist, or says nothing here."""
    known = list(RecallOptions.__annotations__)
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"ctx_recall has no argument {name!r}; it has: {', '.join(known)}")
        if value is not None and name not in allowed:
            raise UsageError(f"ctx_recall: {name}= says nothing with {of}; leave it out")
