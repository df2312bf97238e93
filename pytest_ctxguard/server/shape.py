"""What a provider's wire format must be able to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.server.refusals import Refusal


class Stream(Protocol):
    """Writes the server-sent events of one answer."""

    def opening(self) -> Iterator[bytes]:
        """Yield what comes before the text."""
        ...

    def piece(self, text: str) -> Iterator[bytes]:
        """Yield a piece of the text."""
        ...

    def closing(self, answered: Answered) -> Iterator[bytes]:
        """Yield the tool calls and the end."""
        ...

    def failure(self, refusal: Refusal) -> Iterator[bytes]:
        """Yield an error that came after the beginning."""
        ...


class Shape(Protocol):
    """One provider's requests, answers and refusals."""

    @property
    def call_prefix(self) -> str:
        """What the ids of tool calls begin with."""
        ...

    def read(self, body: Mapping[str, Any], *, strict: bool) -> Ask:
        """Return what a request body asks for, or raise a refusal."""
        ...

    def refusal(self, refusal: Refusal) -> dict[str, Any]:
        """Return the body of a refusal."""
        ...

    def answer(self, answered: Answered) -> dict[str, Any]:
        """Return the body of an answer."""
        ...

    def stream(self, ask: Ask, *, number: int, prompt_tokens: int) -> Stream:
        """Return the writer of a streamed answer."""
        ...
