"""Ask an estimator, of texts or of messages, for one number; anything else is an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.estimates.references import BEFORE
from pytest_ctxguard.transcript.messages import Message

Takes = Literal["text", "messages"]
Estimator = Callable[[Any], float]


class Raised(Exception):
    """What an estimator raised, in its own words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An estimator, asked for texts and messages in the form it takes.

    An estimator of messages is asked twice, with and without the message: what it adds is its
    estimate, as what a counter counts more is its tokens.
    """

    name: str
    estimator: Estimator
    takes: Takes

    def text(self, text: str) -> float:
        """Return the estimate of a text; for messages, that of a user message.

        Raises:
            Raised: the estimator raised.
            UsageError: it returned something that is no number of tokens.
        """
        if self.takes == "text":
            return self._number(text, f"a text of {len(text)} characters")
        return self.message({"role": "user", "content": text})

    def message(self, message: Message) -> float:
        """Return what a message adds to the estimate of a request."""
        return self.request([*BEFORE, message]) - self.request([*BEFORE])

    def request(self, messages: list[Message]) -> float:
        """Return the estimate of a request."""
        return self._number(
            [dict(message) for message in messages], f"a list of {len(messages)} messages"
        )

    def _number(self, given: Any, what: str) -> float:
        try:
            value = self.estimator(given)
        except Exception as error:
            raise Raised(f"{type(error).__name__}: {error}") from error
        number = isinstance(value, Real) and not isinstance(value, bool)  # NumPy's, too
        if not number or not math.isfinite(value) or value < 0:
            raise UsageError(
                f"the estimator {self.name} returned {value!r} for {what}; it returns a number of "
                "tokens, 0 or more"
            )
        return value


def shown(tokens: float | None) -> str:
    """Return a number of tokens, or an estimate with a decimal, for people."""
    return f"{round(tokens or 0, 1):,}"


def asked(estimator: Estimator, *, takes: Takes) -> Asked:
    """Return an estimator as it is asked.

    Raises:
        UsageError: it cannot be called, or ``takes`` is neither ``text`` nor ``messages``.
    """
    if not callable(estimator):
        raise UsageError(f"{estimator!r} is no estimator: it cannot be called")
    if takes not in get_args(Takes):
        raise UsageError(
            f"takes={takes!r}: an estimator takes 'text' (one string) or 'messages' (a list of "
            "chat messages)"
        )
    name = getattr(estimator, "__qualname__", None) or type(estimator).__qualname__
    return Asked(str(name).replace("<locals>.", ""), estimator, takes)
