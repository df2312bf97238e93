"""The one seam between those who ask (recall, the recorder) and those who answer (the engine).

A backend turns one request, in OpenAI chat format, into one completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Message = Mapping[str, Any]
ToolChoice = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it; ``arguments`` is JSON text, as OpenAI carries it."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        text: the answer without its tool calls.
        tool_calls: the calls found in it, in order.
        finish_reason: ``stop``, ``length`` (``max_tokens`` reached) or ``tool_calls``.
        prompt_tokens: length of the prompt, in tokens.
        cached_tokens: how many of those were not computed again.
        completion_tokens: tokens generated, the end token not counted.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: Literal["stop", "length", "tool_calls"] = "stop"
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


class Backend(Protocol):
    """Anything that can answer a chat request."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What the answers depend on: ``model`` (name and hash) and ``numerics``."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
    ) -> Completion:
        """Answer one request greedily.

        ``tool_choice="none"`` leaves the tools out of the prompt, as servers do;
        ``"required"`` opens the reply as a tool call.

        Raises:
            PromptTooLong: the prompt does not fit the context window.
            BackendError: anything else that kept the model from answering.
        """
        ...
