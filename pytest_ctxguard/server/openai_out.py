"""Write answers, streams and refusals as ``POST /v1/chat/completions`` has them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.server.openai_in import read_request
from pytest_ctxguard.server.refusals import Refusal, TooLong

CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
TYPES = {429: "requests", 500: "server_error", 502: "server_error", 503: "server_error"}


class OpenAIShape:
    """OpenAI's chat completions."""

    call_prefix = "call_"

    def read(self, body: Mapping[str, Any], *, strict: bool) -> Ask:
        """Return what a request body asks for."""
        return read_request(body, strict=strict)

    def refusal(self, refusal: Refusal) -> dict[str, Any]:
        """Return the body of a refusal."""
        message = refusal.message
        if isinstance(refusal, TooLong):
            message = (
                f"This model's maximum context length is {refusal.limit} tokens. However, your "
                f"messages resulted in {refusal.tokens} tokens. Please reduce the length of the "
                "messages."
            )
        return {
            "error": {
                "message": message,
                "type": TYPES.get(refusal.status, "invalid_request_error"),
                "param": refusal.param,
                "code": refusal.code or CODES.get(refusal.status),
            }
        }

    def answer(self, answered: Answered) -> dict[str, Any]:
        """Return the body of an answer."""
        message = {**answered.message, "refusal": None}
        return {
            **_head(answered.ask, answered.number, kind="chat.completion"),
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "logprobs": None,
                    "finish_reason": answered.completion.finish_reason,
                }
            ],
            "usage": _usage(answered),
        }

    def stream(self, ask: Ask, *, number: int, prompt_tokens: int) -> OpenAIStream:
        """Return the writer of a streamed answer."""
        return OpenAIStream(ask, number)


class OpenAIStream:
    """Writes the chunks of one streamed answer."""

    def __init__(self, ask: Ask, number: int) -> None:
        self._ask = ask
        self._head = _head(ask, number, kind="chat.completion.chunk")

    def opening(self) -> Iterator[bytes]:
        """Yield what comes before the text."""
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})

    def piece(self, text: str) -> Iterator[bytes]:
        """Yield a piece of the text."""
        yield self._chunk({"content": text})

    def closing(self, answered: Answered) -> Iterator[bytes]:
        """Yield the tool calls and the end."""
        for index, call in enumerate(answered.message.get("tool_calls", ())):
            yield self._chunk({"tool_calls": [{"index": index, **call}]})
        yield self._chunk({}, finish_reason=answered.completion.finish_reason)
        if self._ask.include_usage:
            yield _event({**self._head, "choices": [], "usage": _usage(answered)})
        yield b"data: [DONE]\n\n"

    def failure(self, refusal: Refusal) -> Iterator[bytes]:
        """Yield an error that came after the beginning."""
        yield _event(OpenAIShape().refusal(refusal))

    def _chunk(self, delta: Mapping[str, Any], *, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        data = {**self._head, "choices": [choice]}
        if self._ask.include_usage:
            data["usage"] = None
        return _event(data)


def _head(ask: Ask, number: int, *, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": int(time.time()),
        "model": ask.model,
    }


def _usage(answered: Answered) -> dict[str, Any]:
    return {
        "prompt_tokens": answered.prompt_tokens,
        "completion_tokens": answered.completion_tokens,
        "total_tokens": answered.prompt_tokens + answered.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": answered.completion.cached_tokens},
    }


def _event(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()
