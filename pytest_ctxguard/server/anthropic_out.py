"""Write answers, streams and refusals as ``POST /v1/messages`` has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.server.anthropic_in import read_request
from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.server.refusals import Refusal, TooLong

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class AnthropicShape:
    """Anthropic's messages."""

    call_prefix = "toolu_"

    def read(self, body: Mapping[str, Any], *, strict: bool) -> Ask:
        """Return what a request body asks for."""
        return read_request(body, strict=strict)

    def refusal(self, refusal: Refusal) -> dict[str, Any]:
        """Return the body of a refusal."""
        message = refusal.message
        if isinstance(refusal, TooLong):
            message = f"prompt is too long: {refusal.tokens} tokens > {refusal.limit} maximum"
        fallback = "api_error" if refusal.status >= 500 else "invalid_request_error"
        kind = TYPES.get(refusal.status, fallback)
        return {"type": "error", "error": {"type": kind, "message": message}}

    def answer(self, answered: Answered) -> dict[str, Any]:
        """Return the body of an answer."""
        completion = answered.completion
        content: list[dict[str, Any]] = []
        if completion.text:
            content.append({"type": "text", "text": completion.text})
        content += _tool_uses(answered)
        return {
            **_head(answered.ask, answered.number),
            "content": content,
            "stop_reason": _stop_reason(completion),
            "stop_sequence": completion.stopped_by,
            "usage": _usage(answered),
        }

    def stream(self, ask: Ask, *, number: int, prompt_tokens: int) -> AnthropicStream:
        """Return the writer of a streamed answer."""
        return AnthropicStream(ask, number, prompt_tokens)


class AnthropicStream:
    """Writes the events of one streamed answer."""

    def __init__(self, ask: Ask, number: int, prompt_tokens: int) -> None:
        self._head, self._prompt_tokens = _head(ask, number), prompt_tokens
        self._blocks = 0

    def opening(self) -> Iterator[bytes]:
        """Yield what comes before the text; how much was cached is only known at the end."""
        message = {
            **self._head,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": self._prompt_tokens, "output_tokens": 0},
        }
        yield _event("message_start", message=message)

    def piece(self, text: str) -> Iterator[bytes]:
        """Yield a piece of the text."""
        if not self._blocks:
            yield self._start({"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})

    def closing(self, answered: Answered) -> Iterator[bytes]:
        """Yield the tool calls and the end."""
        if self._blocks:
            yield self._stop()
        for block in _tool_uses(answered):
            yield self._start({**block, "input": {}})
            text = json.dumps(block["input"], ensure_ascii=False)
            yield self._delta({"type": "input_json_delta", "partial_json": text})
            yield self._stop()
        completion = answered.completion
        delta = {"stop_reason": _stop_reason(completion), "stop_sequence": completion.stopped_by}
        yield _event("message_delta", delta=delta, usage=_usage(answered))
        yield _event("message_stop")

    def failure(self, refusal: Refusal) -> Iterator[bytes]:
        """Yield an error that came after the beginning."""
        yield _event("error", error=AnthropicShape().refusal(refusal)["error"])

    def _start(self, block: Mapping[str, Any]) -> bytes:
        self._blocks += 1
        return _event("content_block_start", index=self._blocks - 1, content_block=block)

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._blocks - 1, delta=delta)

    def _stop(self) -> bytes:
        return _event("content_block_stop", index=self._blocks - 1)


def _head(ask: Ask, number: int) -> dict[str, Any]:
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": ask.model}


def _tool_uses(answered: Answered) -> Iterator[dict[str, Any]]:
    for id_, call in zip(answered.call_ids, answered.completion.tool_calls, strict=True):
        yield {"type": "tool_use", "id": id_, "name": call.name, "input": _input(call.arguments)}


def _input(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as the object a client expects; what is none is wrapped in one."""
    try:
        value = json.loads(arguments)
    except ValueError:
        value = arguments
    return value if isinstance(value, dict) else {"arguments": value}


def _stop_reason(completion: Completion) -> str:
    if completion.stopped_by is not None and not completion.tool_calls:
        return "stop_sequence"
    return STOP_REASONS[completion.finish_reason]


def _usage(answered: Answered) -> dict[str, int]:
    cached = answered.completion.cached_tokens
    return {
        "input_tokens": answered.prompt_tokens - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": answered.completion_tokens,
    }


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
