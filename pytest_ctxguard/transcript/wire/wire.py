"""What every provider's file in this room offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.messages import Message

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request.

    Attributes:
        messages: OpenAI-format chat messages, the instructions first.
        tools: OpenAI-format tool definitions.
        model: as named in the request.
        previous: id of the answer this request goes on from, where the provider keeps the
            history (OpenAI Responses: ``previous_response_id``); ``messages`` are then the new
            ones only.
        settings: what else was asked and matters for the answer (``tool_choice``,
            ``temperature``, ``max_tokens``, …), as recorded.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    model: str | None = None
    previous: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response.

    Attributes:
        messages: what it adds to the history: the assistant message. Empty where it was refused.
        call: what is known of the call, under the usual keys: ``model``, ``prompt_tokens`` (all
            of the input, cached or not), ``cached_tokens``, ``cache_written_tokens``,
            ``completion_tokens``, ``reasoning_tokens``, ``finish_reason``, ``time`` (ISO 8601).
        id: the provider's id of the response.
        refusal: the provider's error text, where it answered with an error.
        compacted: the response's own compaction: the messages that stand, from its assistant
            message on, for everything before it; ``None``: none.
    """

    messages: tuple[Message, ...] = ()
    call: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    refusal: str | None = None
    compacted: tuple[Message, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """A provider's format.

    Attributes:
        name: in kebab-case: ``openai-chat``, ``openai-responses``, ``anthropic``, …
        takes: tells whether a request (path of the URL or "", JSON body) is in this format.
        asked: reads a request body. Raises ``ValueError`` with what is wrong, where.
        answer: reads a response body, also an error. Raises ``ValueError`` likewise.
        assemble: turns the JSON values of a stream's events, in order, into the response body
            the same answer would have had without streaming. A stream that breaks off raises
            ``ValueError``.
    """

    name: str
    takes: Callable[[str, Body], bool]
    asked: Callable[[Body], Asked]
    answer: Callable[[Body], Answer]
    assemble: Callable[[Sequence[Body]], Body]
