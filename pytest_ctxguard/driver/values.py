"""What a drive is asked for, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ctxguard.backend import Completion, ToolCall
from pytest_ctxguard.errors import PromptTooLong
from pytest_ctxguard.replay.calls import Summary
from pytest_ctxguard.transcript.messages import Message

Outcome = Literal["finished", "refused", "out of calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What an agent is to do, and what it can do it with.

    Attributes:
        messages: what it starts from: instructions and task.
        tools: OpenAI-format tool definitions.
        run_tool: from a tool's name and arguments to the text of its result.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    run_tool: Callable[[str, Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveStep:
    """One call of a drive.

    Attributes:
        request: the messages sent.
        tokens: exact size of the request, tools included.
        history_tokens: what the uncut history would have been.
        summaries: what the policy asked its summariser for.
        completion: the answer; None when it was refused.
    """

    request: tuple[Message, ...]
    tokens: int
    history_tokens: int
    summaries: tuple[Summary, ...] = ()
    completion: Completion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """How an agent's run under a policy went.

    Attributes:
        outcome: the model answered without a tool call; or a request was refused as too long; or
            it had made as many calls as it may.
        steps: one per call, in order.
        history: what the agent stored, from its first message on.
        refusal: the refusal, if there was one.
    """

    outcome: Outcome
    steps: tuple[DriveStep, ...]
    history: tuple[Message, ...]
    refusal: PromptTooLong | None = None

    @property
    def finished(self) -> bool:
        """Whether it came to its end."""
        return self.outcome == "finished"

    @property
    def answer(self) -> str | None:
        """The text it ended with."""
        last = self.steps[-1].completion if self.steps and self.finished else None
        return None if last is None else last.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls it ran, in order."""
        return tuple(c for s in self.steps if s.completion for c in s.completion.tool_calls)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """All that the policy asked its summariser for, in order."""
        return tuple(summary for step in self.steps for summary in step.summaries)
