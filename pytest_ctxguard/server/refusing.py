"""Refusals as providers and servers word them, and a script that refuses like a provider.

The bodies are those that users of these servers report; the figures in them are examples.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.server.prompt import prompt_key, prompt_size
from pytest_ctxguard.server.script import Fault, read_faults

BUSY = (408, 409, 425, 429)  # and 5xx: the same request may be answered later


def _openai(message: str, *, param: str = "messages", **more: Any) -> Fault:
    error = {"message": message, "type": "invalid_request_error", "param": param}
    return Fault(status=400, body={"error": {**error, "code": "context_length_exceeded", **more}})


def _anthropic(message: str, *, status: int = 400, kind: str = "invalid_request_error") -> Fault:
    error = {"type": kind, "message": message}
    return Fault(status=status, body={"type": "error", "error": error})


# Too long: only a smaller request can be answered.
TOO_LONG: Mapping[str, Fault] = {
    "openai": _openai(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9120 tokens. Please reduce the length of the messages."
    ),
    "openai-completion": _openai(
        "This model's maximum context length is 8192 tokens. However, you requested 8704 tokens "
        "(7680 in the messages, 1024 in the completion). Please reduce the length of the messages "
        "or completion."
    ),
    "openai-input": _openai(
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        param="input",
    ),
    "anthropic": _anthropic("prompt is too long: 214308 tokens > 200000 maximum"),
    "anthropic-max-tokens": _anthropic(
        "input length and `max_tokens` exceed context limit: 197120 + 8192 > 200000, decrease "
        "input length or `max_tokens` and try again"
    ),
    "anthropic-413": _anthropic(
        "Request exceeds the maximum size", status=413, kind="request_too_large"
    ),
    "llama.cpp": Fault(
        status=400,
        body={
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9120,
                "n_ctx": 8192,
            }
        },
    ),
    "code-only": _openai(  # the code alone tells it from any other refusal
        "Prompt has 49231 tokens, but the configured context size is 49152 tokens",
        n_prompt_tokens=49231,
        n_ctx=49152,
    ),
}

# Invalid: the same request can only be refused again. Why is not said.
INVALID: Mapping[str, Fault] = {"bare-400": Fault(status=400, body="")}

# Busy: the same request may be sent again.
RETRYABLE: Mapping[str, Fault] = {
    "rate-limit": Fault(status=429, retry_after=1),
    "server-error": Fault(status=500),
    "unavailable": Fault(status=503),
    "overloaded": Fault(status=529),
}

NAMED: Mapping[str, Fault] = {**TOO_LONG, **INVALID, **RETRYABLE}


def is_busy(status: int) -> bool:
    """Tell whether a request that got this status may be sent again as it is."""
    return status in BUSY or status >= 500


def named_fault(refusal: str | Fault | Mapping[str, Any]) -> Fault:
    """Return a refusal by name, or as given.

    Raises:
        UsageError: there is none of that name, or it has no status.
    """
    if isinstance(refusal, str):
        if refusal not in NAMED:
            raise UsageError(f"no refusal is named {refusal!r}; there are: {', '.join(NAMED)}")
        return NAMED[refusal]
    fault = read_faults({1: refusal})[1]
    if fault.status is None:
        raise UsageError("a refusal needs a status: Fault(status=400, body=…)")
    return fault


class Refusing:
    """Faults of a server that refuses one request, and then as its provider would.

    A busy server refuses ``times`` requests in a row and answers later ones. One that refuses
    for good also refuses the same prompt ever after; and, if it is too long, any that is not
    smaller.

    Args:
        refusal: a name of ``NAMED``, or a fault.
        at: the number of the request that it meets first, from 1.
        times: how often, if it is busy.
    """

    def __init__(
        self, refusal: str | Fault | Mapping[str, Any], *, at: int = 1, times: int = 1
    ) -> None:
        if at < 1 or times < 1:
            raise UsageError(f"at={at}, times={times}: requests are counted from 1")
        self.fault = named_fault(refusal)
        self.too_long = isinstance(refusal, str) and refusal in TOO_LONG
        self.busy = is_busy(self.fault.status or 0)
        self._at, self._times = at, times
        self._refused: list[Mapping[str, Any]] = []
        self._lock = threading.Lock()

    def __call__(self, number: int, body: Mapping[str, Any]) -> Fault | None:
        """Return what happens to a request."""
        if self.busy:
            return self.fault if self._at <= number < self._at + self._times else None
        with self._lock:
            if number != self._at and not self._refused_before(body):
                return None
            self._refused.append(body)
        return self.fault

    def _refused_before(self, body: Mapping[str, Any]) -> bool:
        key, size = prompt_key(body), prompt_size(body)
        return any(
            key == prompt_key(refused) or (self.too_long and size >= prompt_size(refused))
            for refused in self._refused
        )
