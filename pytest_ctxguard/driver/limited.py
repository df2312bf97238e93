"""A context window in process: a backend that refuses what is too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ctxguard.backend import GREEDY, Backend, Completion, Sampling, ToolChoice, Watch
from pytest_ctxguard.errors import PromptTooLong
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True)
class LimitedBackend:
    """A backend that refuses prompts beyond a limit, as a provider with that window does.

    Attributes:
        backend: what answers the others.
        counter: counts the prompt.
        limit: tokens it may have, tools included.
    """

    backend: Backend
    counter: Counter
    limit: int

    @property
    def identity(self) -> Mapping[str, str]:
        """That of the backend behind it."""
        return self.backend.identity

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
        stop: Sequence[str] = (),
        sampling: Sampling = GREEDY,
        watch: Watch | None = None,
    ) -> Completion:
        """Answer one request, or refuse it.

        Raises:
            PromptTooLong: the prompt is beyond the limit.
        """
        tokens = self.counter.count(messages, tools=() if tool_choice == "none" else tools)
        if tokens > self.limit:
            raise PromptTooLong(tokens, self.limit)
        completion = self.backend.complete(
            messages,
            tools=tools,
            tool_choice=tool_choice,
            max_tokens=max_tokens,
            stop=stop,
            sampling=sampling,
            watch=watch,
        )
        return replace(completion, prompt_tokens=completion.prompt_tokens or tokens)
