"""What estimators are held against: exact counters by name, counters, or another estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import Message

BEFORE: tuple[Message, ...] = ({"role": "system", "content": "You help a payments team."},)
"""What stands before a message whose tokens are measured: no template adds its own."""

NAMES = ("qwen2.5", "o200k", "cl100k")

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
        against: names (``qwen2.5``, ``o200k``, ``cl100k``), counters, other estimators of texts.

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
        if isinstance(each, str) and each not in NAMES:
            raise UsageError(
                f"no counter is named {each!r}; there are: {', '.join(NAMES)}, and any counter or "
                "function from text to tokens"
            )
        if not isinstance(each, str) and not callable(each) and not hasattr(each, "count"):
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
    if against == "qwen2.5":
        from pytest_ctxguard.tokens.request import RequestEncoder

        encoder = RequestEncoder()
        return Reference(name, lambda t: len(encoder.encode_text(t)), partial(_adds, encoder))
    if isinstance(against, str):
        from pytest_ctxguard.tokens.openai import OpenAICounter

        openai = OpenAICounter(f"{against}_base")
        return Reference(name, openai.count_text, partial(_adds, openai))
    counts: Any = against
    if not hasattr(counts, "count"):
        return Reference(name, counts, None)
    text = getattr(counts, "count_text", None) or partial(_text_adds, counts)
    return Reference(name, text, partial(_adds, counts))


def _adds(counter: Counter, message: Message) -> int:
    return counter.count((*BEFORE, message)) - counter.count(BEFORE)


def _text_adds(counter: Counter, text: str) -> int:
    """Return the tokens of a text as a counter of requests sees it: beside an empty one."""
    user = {"role": "user", "content": text}
    return _adds(counter, user) - _adds(counter, {**user, "content": ""})
