"""Continuations that grow token by token, and know when they are over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_ctxguard.engine.decoder import Slot

FINISH = Literal["stop", "length"]

Choose = Callable[[NDArray[np.float32]], int]
Done = Callable[[Sequence[int]], bool]


@dataclass(frozen=True, slots=True)
class Generated:
    """A continuation.

    Attributes:
        tokens: the ids generated, without the stop id.
        finish_reason: ``stop``, or ``length`` when ``max_tokens`` or the window was reached.
        prompt_tokens: length of the prompt.
        cached_tokens: how many of those were not computed again.
    """

    tokens: tuple[int, ...]
    finish_reason: FINISH
    prompt_tokens: int
    cached_tokens: int


class Answer:
    """A continuation that grows token by token, and knows when it is over."""

    def __init__(
        self,
        prompt: Sequence[int],
        *,
        cached: int,
        limit: int,
        stop: Collection[int],
        done: Done | None = None,
        choose: Choose | None = None,
    ) -> None:
        self._length, self._cached, self._limit = len(prompt), cached, limit
        self._stop, self._done, self._choose = stop, done, choose
        self._finish: FINISH = "length"
        self.tokens: list[int] = []

    @property
    def position(self) -> int:
        """The position of the last token."""
        return self._length + len(self.tokens) - 1

    def extend(self, logits: NDArray[np.float32]) -> bool:
        """Take the next token from its logits [vocab]; tell whether another one is wanted."""
        if len(self.tokens) >= self._limit:
            return False
        token = int(logits.argmax()) if self._choose is None else self._choose(logits)
        if token in self._stop:
            self._finish = "stop"
            return False
        self.tokens.append(token)
        if self._done is not None and self._done(self.tokens):
            self._finish = "stop"
            return False
        return len(self.tokens) < self._limit

    def result(self) -> Generated:
        """Return what was generated."""
        return Generated(tuple(self.tokens), self._finish, self._length, self._cached)


def compact(slots: Sequence[Slot], answers: Sequence[tuple[Answer, bool]]) -> list[Answer]:
    """Return the answers that still grow, their slots moved to the front in the same order."""
    growing = [answer for answer, grows in answers]
    for index in reversed(range(len(answers))):
        if not answers[index][1]:
            last = growing.pop()
            if index < len(growing):
                slots[index].copy_from(slots[len(growing)], rows=last.position)
                growing[index] = last
    return growing
