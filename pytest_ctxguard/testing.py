"""Public test doubles: test code that uses the plugin without its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.backend import GREEDY, Completion, Message, Sampling, ToolChoice, Watch
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.policies.summarisers import FAULTS, FaultySummariser, ScriptedSummariser

__all__ = ["FAULTS", "Answer", "FaultySummariser", "ScriptedBackend", "ScriptedSummariser"]

Answer = str | Completion


@dataclass(slots=True)
class ScriptedBackend:
    """A backend that answers from a list or a function; for tests, with no model.

    ``answers`` is either a function from the request's messages to the answer's text, or
    a sequence used up in order (running out is a :class:`BackendError`). Every request is
    kept in ``requests``.
    """

    answers: Sequence[Answer] | Callable[[Sequence[Message]], Answer]
    identity: Mapping[str, str] = field(
        default_factory=lambda: {"model": "scripted", "numerics": "exact"}
    )
    requests: list[dict[str, Any]] = field(default_factory=list)

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
        """Return the next scripted answer; ``watch`` is told its text whole."""
        self.requests.append(
            {
                "messages": list(messages),
                "tools": list(tools),
                "tool_choice": tool_choice,
                "max_tokens": max_tokens,
            }
        )
        if callable(self.answers):
            answer = self.answers(messages)
        else:
            index = len(self.requests) - 1
            if index >= len(self.answers):
                raise BackendError(
                    f"the script has {len(self.answers)} answers; this is request {index + 1}"
                )
            answer = self.answers[index]
        completion = answer if isinstance(answer, Completion) else Completion(text=answer)
        if watch is not None:
            watch(completion.text)
        return completion
