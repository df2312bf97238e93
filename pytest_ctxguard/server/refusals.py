"""Refusals: why a request gets no answer. The shapes put them in their provider's words."""

from __future__ import annotations

from pytest_ctxguard.errors import (
    BackendError,
    CtxguardError,
    PolicyError,
    PromptTooLong,
    UsageError,
)


class Refusal(Exception):
    """A request that is not answered.

    Attributes:
        status: HTTP status.
        message: what the client's user reads.
        code: OpenAI's ``code``, where it has one.
        param: the parameter at fault, where it is one.
        retry_after: seconds, for the header of that name.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with it."""
        return {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}


class TooLong(Refusal):
    """A prompt over the limit; each provider says so in its own words.

    Attributes:
        tokens: length of the prompt, in tokens.
        limit: how many are allowed.
    """

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(400, "", code="context_length_exceeded", param="messages")
        self.tokens, self.limit = tokens, limit


def refused(error: Exception) -> Refusal:
    """Return what a client is told of an error that a request met."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, PromptTooLong):
        return TooLong(error.tokens, error.limit)
    if isinstance(error, UsageError | PolicyError):
        return Refusal(400, str(error))
    if isinstance(error, BackendError | CtxguardError):
        return Refusal(500, str(error))
    return Refusal(500, f"the backend raised {type(error).__name__}: {error}")
