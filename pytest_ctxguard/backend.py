"""The one seam between those who ask (recall, the recorder) and those who answer (the engine).

A backend turns one request, in OpenAI chat format, into one completion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from pytest_ctxguard.errors import BackendError

Message = Mapping[str, Any]
ToolChoice = Literal["auto", "none", "required"]
Watch = Callable[[str], bool]
"""Told each new piece of an answer's text; returning False ends the answer there."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    Attributes:
        temperature: divides the logits; 0 takes the likeliest token.
        top_p: draw only from the likeliest tokens that together have this probability.
        seed: of the random generator; one seed and one request give one answer.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


GREEDY = Sampling()


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
        stopped_by: the stop text that ended the answer, if one did.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: Literal["stop", "length", "tool_calls"] = "stop"
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    stopped_by: str | None = None


class Backend(Protocol):
    """Anything that can answer a chat request.

    A backend may also have a ``fingerprint``, see :func:`fingerprint`.
    """

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
        stop: Sequence[str] = (),
        sampling: Sampling = GREEDY,
        watch: Watch | None = None,
    ) -> Completion:
        """Answer one request.

        ``tool_choice="none"`` leaves the tools out of the prompt, as servers do;
        ``"required"`` opens the reply as a tool call. The answer ends before the first of the
        ``stop`` texts. ``watch`` is told the text while it is decoded, tool calls left out.
        The plugin itself asks greedily and uses none of the last three.

        Raises:
            PromptTooLong: the prompt does not fit the context window.
            BackendError: anything else that kept the model from answering.
        """
        ...


@runtime_checkable
class BatchBackend(Backend, Protocol):
    """A backend that is quicker when several requests come together.

    One that need not have requests with a common beginning for that has an ``at_once``, too: how
    many it answers at the same time.
    """

    def complete_many(
        self,
        requests: Sequence[Sequence[Message]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
    ) -> tuple[Completion | BackendError, ...]:
        """Answer each list of messages as ``complete`` would; an error takes its answer's place."""
        ...


def complete_many(
    backend: Backend,
    requests: Sequence[Sequence[Message]],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: ToolChoice = "auto",
    max_tokens: int = 48,
) -> tuple[Completion | BackendError, ...]:
    """Answer several requests, together where the backend can."""
    if isinstance(backend, BatchBackend):
        return backend.complete_many(
            requests, tools=tools, tool_choice=tool_choice, max_tokens=max_tokens
        )
    answers: list[Completion | BackendError] = []
    for messages in requests:
        try:
            answers.append(
                backend.complete(
                    messages, tools=tools, tool_choice=tool_choice, max_tokens=max_tokens
                )
            )
        except BackendError as error:
            answers.append(error)
    return tuple(answers)


def fingerprint(backend: Backend) -> str | None:
    """Return the digest of all that a backend's greedy answers depend on beside the request.

    Equal fingerprints and equal requests have equal answers, today and in a year, so that these
    may be kept. None where a backend cannot promise that: a script, an endpoint, one of a hook's.
    """
    found: str | None = getattr(backend, "fingerprint", None)
    return found


def completion_data(completion: Completion) -> dict[str, Any]:
    """Return an answer as JSON data."""
    return asdict(completion)


def read_completion(data: Mapping[str, Any]) -> Completion:
    """Return the answer that ``completion_data`` made this of.

    Raises:
        KeyError: it did not.
        TypeError: likewise.
    """
    calls = tuple(ToolCall(**call) for call in data["tool_calls"])
    return Completion(**{**data, "tool_calls": calls})
