"""One request and its answer, in OpenAI chat format whatever shape they cross the wire in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.backend import GREEDY, Completion, Sampling, ToolChoice
from pytest_ctxguard.transcript.messages import Message

DEFAULT_MAX_TOKENS = 1024  # of an answer, where the request names no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request for an answer.

    Attributes:
        model: the name the client asked for; it is echoed, whatever model answers.
        messages: OpenAI-format chat messages.
        tools: OpenAI-format tool definitions, all of them.
        forced: the one tool that must be called, by name.
        one_call: keep the first tool call only.
        include_usage: OpenAI's ``stream_options.include_usage``.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: ToolChoice = "auto"
    forced: str | None = None
    one_call: bool = False
    max_tokens: int = DEFAULT_MAX_TOKENS
    stop: tuple[str, ...] = ()
    sampling: Sampling = field(default=GREEDY)
    stream: bool = False
    include_usage: bool = False

    @property
    def offered(self) -> tuple[Mapping[str, Any], ...]:
        """The tools that are in the prompt: none, all, or the forced one alone."""
        if self.tool_choice == "none":
            return ()
        if self.forced is None:
            return self.tools
        return tuple(t for t in self.tools if t["function"]["name"] == self.forced)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request with its answer.

    Attributes:
        number: of the request, from 1; ids are made of it.
        call_ids: one for each tool call.
        prompt_tokens: counted by the server where the backend does not say.
        completion_tokens: likewise.
    """

    ask: Ask
    completion: Completion
    number: int
    call_ids: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int

    @property
    def message(self) -> dict[str, Any]:
        """The answer as an OpenAI-format assistant message."""
        completion = self.completion
        message: dict[str, Any] = {"role": "assistant", "content": completion.text or None}
        if not completion.tool_calls:
            message["content"] = completion.text
        else:
            message["tool_calls"] = [
                {
                    "id": id_,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for id_, call in zip(self.call_ids, completion.tool_calls, strict=True)
            ]
        return message
