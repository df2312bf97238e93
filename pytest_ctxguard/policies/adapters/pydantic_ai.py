"""Policies of Pydantic AI: history processors and the compaction capabilities of its harness."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.conversion import Factory
from pytest_ctxguard.policies.adapters.feed import Feed
from pytest_ctxguard.policies.adapters.framework import require, then
from pytest_ctxguard.policies.adapters.originals import Originals
from pytest_ctxguard.policies.adapters.pydantic_messages import (
    ADAPTER,
    PIP,
    back,
    in_order,
    key,
    pieces,
    requests,
    taken_apart,
)
from pytest_ctxguard.policies.protocol import Policy, is_factory
from pytest_ctxguard.transcript.messages import Message

ANSWER = "Done."


def pydantic_ai(policy: Any) -> Policy:
    """Adapt a policy of Pydantic AI.

    At each call an agent with the policy runs on the history, on a model that answers "Done.".
    What the policy made of the history stays, as in the agent's own run: the next call appends
    what is new to it. System messages are system prompts in the history; no usage is reported; the
    agent has no tools.

    Args:
        policy: a capability, such as ``SlidingWindowCompaction(max_tokens=1500)``; or a history
            processor, run by ``ProcessHistory``; or a list of them, in order; or a function without
            arguments that makes one of these.

    Returns:
        A factory of policies, each with the state of one replay.
    """
    made = policy if callable(policy) and is_factory(policy) else lambda: policy
    return Factory(policy, lambda: _Run(made()))


def pydantic_ai_model(answer: Callable[[list[Message]], str]) -> Any:
    """Make a model that answers with a function; for summarisers under test.

    Args:
        answer: takes the request as OpenAI-format messages and returns the text, or raises.

    Raises:
        FrameworkMissing: pydantic-ai is not installed.
    """
    functions = _module("pydantic_ai.models.function")
    shapes = _module("pydantic_ai.messages")

    def answered(messages: list[Any], info: Any) -> Any:
        asked = [made for piece in taken_apart(messages) for made in back(piece)]
        if info.instructions:
            asked.insert(0, {"role": "system", "content": info.instructions})
        return shapes.ModelResponse(parts=[shapes.TextPart(answer(asked))])

    return functions.FunctionModel(answered)


@dataclass(slots=True)
class _Run:
    """An agent's run: its history as the policy left it."""

    func: Any
    table: Originals[Any] = field(default_factory=lambda: Originals(back, key=key))
    feed: Feed = field(default_factory=lambda: Feed(ADAPTER))
    history: list[Any] = field(default_factory=list)

    async def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send; the run goes on from the last call."""
        new = [
            self.table.enter(piece, place)
            for piece, place in pieces(messages, self.feed.new(messages))
        ]
        given = _joined(self.history, requests(new))
        sent: list[Any] = []

        def answered(these: list[Any], info: Any) -> Any:
            sent[:] = these  # the last one: a summariser without a model of its own asks first
            return shapes.ModelResponse(parts=[shapes.TextPart(ANSWER)])

        shapes = _module("pydantic_ai.messages")
        model = _module("pydantic_ai.models.function").FunctionModel(answered)
        agent = _module("pydantic_ai").Agent(model, capabilities=self._capabilities())
        run = await agent.run(message_history=given)
        self.history = run.all_messages()[:-1]  # without the answer
        if not sent:
            raise PolicyError(
                "adapt.pydantic_ai: the agent sent no request for this history. Remedy: a history "
                "before a call ends in a user message or a tool result"
            )
        return self.table.restore(in_order(taken_apart(sent)), messages)

    def _capabilities(self) -> list[Any]:
        capabilities = _module("pydantic_ai.capabilities")
        given = self.func if isinstance(self.func, list | tuple) else [self.func]
        return [
            one
            if isinstance(one, capabilities.AbstractCapability)
            else capabilities.ProcessHistory(_checked(one))
            for one in given
        ]


def _checked(processor: Callable[..., Any]) -> Callable[..., Any]:
    """Return a processor whose output is checked here, since the agent would say less."""

    def known(returned: Any) -> Any:
        for piece in taken_apart(returned):
            back(piece)
        return returned

    @functools.wraps(processor)  # the agent reads its signature
    def checked(*given: Any) -> Any:
        return then(processor(*given), known)

    return checked


def _joined(history: list[Any], new: list[Any]) -> list[Any]:
    """Append new messages to a history; two requests in a row become one, as in any run."""
    shapes = _module("pydantic_ai.messages")
    requests = [isinstance(m[0], shapes.ModelRequest) for m in (history[-1:], new) if m]
    if len(requests) == 2 and all(requests):
        joined = shapes.ModelRequest(parts=[*history[-1].parts, *new[0].parts])
        return [*history[:-1], joined, *new[1:]]
    return [*history, *new]


def _module(name: str) -> Any:
    return require(name, adapter=ADAPTER, pip=PIP)
