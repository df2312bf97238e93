"""What a policy is judged by: the provider, what it may insert, how it may refuse, who counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.counters.functions import FunctionCounter
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import PROVIDERS
from pytest_ctxguard.transcript.wellformed.kept import MARK

Insert = str | re.Pattern[str]
Inserts = Sequence[Insert] | Insert | Literal["any"]

CUTS = re.compile(r"…|\.\.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of one judgement.

    Attributes:
        counter: exact counter of requests, in the budget's unit.
        provider: whose rules a request must keep.
        inserts: texts a policy may put in; ``None``: any text at all.
        refuses: classes of the errors by which it says that nothing fits.
        summariser: what the policy is offered as ``summarise``.
    """

    counter: Counter
    provider: str = "openai"
    inserts: tuple[Insert, ...] | None = ()
    refuses: tuple[type[Exception], ...] = ()
    summariser: Summariser | None = None

    def without_inserts(self, text: str) -> list[str]:
        """Return the pieces of a text that are left when what may be put in is taken out."""
        for insert in self.inserts or ():
            if isinstance(insert, str):
                text = text.replace(insert, "\0")
            else:
                text = insert.sub("\0", text)
        return [piece for piece in text.split("\0") if piece.strip()]

    def unmarked(self, text: str) -> list[str]:
        """Return the pieces that are left when the usual marks are taken out, too."""
        pieces = (MARK.sub("\0", piece) for piece in self.without_inserts(text))
        return [each for piece in pieces for each in piece.split("\0") if each.strip()]

    def marked(self, text: str, whole: str) -> bool:
        """Tell whether a text says that it is not the whole: by an insert, or in usual words."""
        declared = any(
            insert in text if isinstance(insert, str) else insert.search(text)
            for insert in self.inserts or ()
        )
        return declared or len(MARK.findall(text)) > len(MARK.findall(whole))


def make_terms(
    counter: Counter | Callable[[Sequence[Message]], int],
    *,
    provider: str = "openai",
    inserts: Inserts = (),
    refuses: type[Exception] | Iterable[type[Exception]] = (),
    summariser: Summariser | None = None,
) -> Terms:
    """Check and complete the terms a user gave.

    Raises:
        UsageError: an unknown provider, or something that is no insert or no error class.
    """
    if provider not in PROVIDERS:
        known = ", ".join(sorted(PROVIDERS))
        raise UsageError(f"provider={provider!r}: there are rules for {known}")
    return Terms(
        counter=_counter(counter),
        provider=provider,
        inserts=_inserts(inserts),
        refuses=_classes(refuses),
        summariser=summariser,
    )


def _counter(counter: Any) -> Counter:
    if hasattr(counter, "count"):
        return counter  # type: ignore[no-any-return]  # a protocol's method was looked for
    if not callable(counter):
        raise UsageError(f"counter={counter!r}: give a counter, or a function from messages")
    return FunctionCounter(counter)


def _inserts(inserts: Inserts) -> tuple[Insert, ...] | None:
    if inserts == "any":
        return None
    listed = (inserts,) if isinstance(inserts, str | re.Pattern) else tuple(inserts)
    for insert in listed:
        if not isinstance(insert, str | re.Pattern) or not insert:
            raise UsageError(
                f"inserts has {insert!r}: give the texts that the policy puts in, as text or "
                're.compile(…), or "any" for a policy that writes summaries'
            )
    return listed


def _classes(refuses: type[Exception] | Iterable[type[Exception]]) -> tuple[type[Exception], ...]:
    listed = (refuses,) if isinstance(refuses, type) else tuple(refuses)
    for each in listed:
        if not isinstance(each, type) or not issubclass(each, Exception):
            raise UsageError(f"refuses has {each!r}: give the classes of errors the policy raises")
    return listed
