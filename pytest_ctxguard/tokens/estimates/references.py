"""What estimators are held against: exact counters by name, counters, or another estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.counters.choosing import NAMES, check_name, counter
from pytest_ctxguard.transcript.messages import Message

BEFORE: tuple[Message, ...] = ({"role": "system", "content": "You help a payments team."},)
"""What stands before a message whose tokens are measured: no template adds its own."""

Against = str | Counter | Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Reference:
    """A counter as estimators are held against it.

    Attributes:
        name: says what counts.
        text: tokens of a plain text.
        message: tokens that a message adds to a request; ``None``: it counts texts only.
    """

    name: str
    text: Callable[[str], int]
    message: Callable[[Message], int] | None


def references(against: Against | Sequence[Against]) -> tuple[Reference, ...]:
    """Return what to hold an estimator against, in the order given.

    Args:
        against: names as :func:`~pytest_ctxguard.tokens.counters.choosing.counter` takes them,
            counters, other estimators of texts.

    Raises:
        UsageError: none is given, one twice, or something that is none of these.
        ModelMissing: what a name needs is not installed.
    """
    found = [_reference(each) for each in check_against(against)]
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        raise UsageError(f"against= names one counter twice: {', '.join(names)}")
    return tuple(found)


def check_against(against: Against | Sequence[Against]) -> tuple[Against, ...]:
    """Return what is given, one by one, without loading anything.

    Raises:
        UsageError: none is given, or something that is no counter.
    """
    single = isinstance(against, str) or callable(against) or not isinstance(against, Iterable)
    given: tuple[Any, ...] = (against,) if single else tuple(against)  # type: ignore[arg-type]
    if not given:
        raise UsageError(f"against= names nothing; there are: {', '.join(NAMES)}, and any counter")
    for each in given:
        if isinstance(each, str):
            check_name(each)
        elif not callable(each) and not hasattr(each, "count"):
            raise UsageError(
                f"against={each!r} is no counter; give {', '.join(NAMES)}, an object with "
                ".name and .count(messages), or a function from text to tokens"
            )
    return given


def reference_name(against: Against) -> str:
    """Return the name of one, without loading anything."""
    named = getattr(against, "name", None) or getattr(against, "__name__", None)
    return against if isinstance(against, str) else str(named or type(against).__name__)


def _reference(against: Against) -> Reference:
    name = reference_name(against)
    counts: Any = counter(against) if isinstance(against, str) else against
    if not hasattr(counts, "count"):
        return Reference(name, counts, None)
    return Reference(name, _text_counter(counts), partial(_adds, counts))


def _text_counter(counts: Any) -> Callable[[str], int]:
    """Return what counts a plain text: the counter's own way, or what it adds to a request."""
    if hasattr(counts, "count_text"):
        return counts.count_text  # type: ignore[no-any-return]  # its own function
    if hasattr(counts, "encode_text"):
        return lambda text: len(counts.encode_text(text))
    return partial(_text_adds, counts)


def _adds(counter: Counter, message: Message) -> int:
    return counter.count((*BEFORE, message)) - counter.count(BEFORE)


def _text_adds(counter: Counter, text: str) -> int:
    """Return the tokens of a text as a counter of requests sees it: beside an empty one."""
    user = {"role": "user", "content": text}
    return _adds(counter, user) - _adds(counter, {**user, "content": ""})
