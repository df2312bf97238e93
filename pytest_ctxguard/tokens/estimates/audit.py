"""The audit of an estimator: its error by script and by kind, both ways, and its worst cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.estimates.asking import Asked, Estimator, Raised, Takes, asked
from pytest_ctxguard.tokens.estimates.properties import Broken, broken_properties
from pytest_ctxguard.tokens.estimates.references import Against, Reference, references
from pytest_ctxguard.tokens.estimates.samples import Group, Sample, samples
from pytest_ctxguard.tokens.estimates.shrinking import shrink

Direction = Literal["under", "over"]

# Below this many tokens an overcount may be a constant or the rounding, and no rate.
LEAST_OVER = 8


@dataclass(frozen=True, slots=True)
class Error:
    """An estimate beside what was counted.

    Attributes:
        sample: what was estimated.
        measured: its tokens.
        estimated: the estimate; ``None``: the estimator raised.
        raised: what it raised.
    """

    sample: Sample
    measured: int
    estimated: float | None
    raised: str = ""

    @property
    def under(self) -> float:
        """Return the share of the tokens that the estimate misses; all, if it raised."""
        return under(self.measured, self.estimated or 0)

    @property
    def over(self) -> float:
        """Return what the estimate has too much, as a share of the tokens."""
        return over(self.measured, self.estimated or 0)


@dataclass(frozen=True, slots=True)
class Row:
    """The errors of one script, kind or shape; totals of tokens, and its worst texts."""

    group: Group
    name: str
    errors: tuple[Error, ...]

    @property
    def measured(self) -> int:
        """Return the tokens of all its texts."""
        return sum(error.measured for error in self.errors)

    @property
    def estimated(self) -> float:
        """Return the estimates of all its texts."""
        return sum(error.estimated or 0 for error in self.errors)

    @property
    def under(self) -> float:
        """Return the worst undercount of a text."""
        return max(error.under for error in self.errors)

    @property
    def over(self) -> float:
        """Return the worst overcount of a text."""
        return max(error.over for error in self.errors)


@dataclass(frozen=True, slots=True)
class Example:
    """A short text that shows an error."""

    text: str
    measured: int
    estimated: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """An estimator against one counter.

    Attributes:
        against: the counter's name.
        errors: of every text.
    """

    against: str
    errors: tuple[Error, ...]
    asked: Asked
    reference: Reference

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the errors by script, kind and shape."""
        names = dict.fromkeys((e.sample.group, e.sample.name) for e in self.errors)
        return tuple(
            Row(
                group,
                name,
                tuple(e for e in self.errors if (e.sample.group, e.sample.name) == (group, name)),
            )
            for group, name in names
        )

    def worst(self, direction: Direction) -> Error:
        """Return the text with the largest error one way."""
        return max(self.errors, key=lambda error: float(getattr(error, direction)))

    def beyond(self, direction: Direction, *, bound: float) -> tuple[Error, ...]:
        """Return the texts with an error beyond a bound, the worst first."""
        found = [error for error in self.errors if getattr(error, direction) > bound]
        return tuple(sorted(found, key=lambda error: -float(getattr(error, direction))))

    def example(self, direction: Direction, *, bound: float) -> Example | None:
        """Return a short text with an error beyond the bound; ``None``: there is none to show.

        It is a part of the worst text that was estimated; a worst message has no parts. One that
        shows an overcount keeps some tokens, so that a constant or the rounding is not shown as
        a rate.
        """
        beyond = self.beyond(direction, bound=bound)
        error = next((error for error in beyond if error.estimated is not None), None)
        if error is None or error.sample.message is not None:
            return None
        measure = under if direction == "under" else over
        least = 1 if direction == "under" else LEAST_OVER

        def shows(text: str) -> bool:
            counted = _measured(self.reference, self.asked.takes, text)
            return counted >= least and measure(counted, self.asked.text(text)) > bound

        try:
            text = shrink(error.sample.text, shows=shows)
            counted = _measured(self.reference, self.asked.takes, text)
            return Example(text, counted, self.asked.text(text))
        except Raised:  # on a part of a text that it estimated whole
            return None


@dataclass(frozen=True, slots=True)
class Audit:
    """What an estimator came to.

    Attributes:
        estimator: its name.
        takes: what it takes.
        comparisons: one for each counter.
        broken: properties that every estimator has, and this one has not.
    """

    estimator: str
    takes: Takes
    comparisons: tuple[Comparison, ...]
    broken: tuple[Broken, ...]

    def against(self, name: str) -> Comparison:
        """Return the comparison with one counter.

        Raises:
            UsageError: it was not held against that one.
        """
        for comparison in self.comparisons:
            if comparison.against == name:
                return comparison
        held = ", ".join(comparison.against for comparison in self.comparisons)
        raise UsageError(f"{self.estimator} was not held against {name!r}, but against: {held}")


def audit(
    estimator: Estimator,
    *,
    against: Against | Sequence[Against],
    takes: Takes = "text",
    scripts: Iterable[str] | None = None,
    kinds: Iterable[str] | None = None,
) -> Audit:
    """Hold an estimator against exact counts.

    Args:
        estimator: from a text, or from a list of chat messages, to tokens.
        against: one or several of ``qwen2.5``, ``o200k``, ``cl100k``, any counter, or another
            estimator of texts: those of one program are to agree.
        takes: ``"text"`` or ``"messages"``.
        scripts: names of scripts; default: all. ``()``: none.
        kinds: names of kinds of content, and of shapes of messages; the same.

    Raises:
        UsageError: an argument is none of these, or the estimator returns no number, or raises
            on everything.
        ModelMissing: what a counter needs is not installed.
    """
    subject = asked(estimator, takes=takes)
    wanted = samples(takes=takes, scripts=scripts, kinds=kinds)
    counters = references(against)
    if takes == "messages" and (texts_only := [r.name for r in counters if r.message is None]):
        raise UsageError(f"against {texts_only[0]}: it counts texts, the estimator takes messages")
    estimates = [_estimated(subject, sample) for sample in wanted]
    if all(value is None for value, _ in estimates):
        raise UsageError(
            f"the estimator {subject.name} raised on every text ({estimates[0][1]}); does it take "
            f"{takes}? Say takes='text' or takes='messages'"
        )
    comparisons = []
    for counter in counters:
        errors = tuple(
            Error(sample, _measured(counter, takes, sample), value, raised)
            for sample, (value, raised) in zip(wanted, estimates, strict=True)
        )
        comparisons.append(Comparison(counter.name, errors, subject, counter))
    return Audit(subject.name, takes, tuple(comparisons), broken_properties(subject))


def under(measured: float, estimated: float) -> float:
    """Return the share of the measured tokens that an estimate misses."""
    return max(0.0, (measured - estimated) / measured) if measured else 0.0


def over(measured: float, estimated: float) -> float:
    """Return what an estimate has too much, as a share of the measured tokens."""
    return max(0.0, (estimated - measured) / measured) if measured else 0.0


def _estimated(subject: Asked, sample: Sample) -> tuple[float | None, str]:
    try:
        if sample.message is not None:
            return subject.message(sample.message), ""
        return subject.text(sample.text), ""
    except Raised as raised:
        return None, str(raised)


def _measured(counter: Reference, takes: Takes, sample: Sample | str) -> int:
    text = sample if isinstance(sample, str) else sample.text
    if takes == "text" or counter.message is None:
        return counter.text(text)
    message = None if isinstance(sample, str) else sample.message
    return counter.message(message or {"role": "user", "content": text})
