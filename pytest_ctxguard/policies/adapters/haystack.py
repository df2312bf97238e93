"""Policies of Haystack: compactors and the hook that runs them in an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.policies.adapters.conversion import Factory, Table, Whole
from pytest_ctxguard.policies.adapters.feed import Feed
from pytest_ctxguard.policies.adapters.framework import require
from pytest_ctxguard.policies.adapters.haystack_messages import CONVERSION, PIP
from pytest_ctxguard.policies.protocol import Policy, is_factory
from pytest_ctxguard.transcript.messages import Message


def haystack(policy: Any) -> Policy:
    """Adapt a policy of Haystack.

    Args:
        policy: one of

            - an agent's ``before_llm`` hook, such as ``CompactionHook(SlidingWindowCompactor(),
              context_window=8000)``, run on an agent's state: what it leaves there stays, and new
              messages are appended to it at each call. The state says that no usage was reported,
              so the hook counts with its own counter, and counts no tools;
            - a function from messages to messages or ``None`` (nothing done), such as
              ``partial(SlidingWindowCompactor().compact, target_tokens=1500,
              token_counter=ApproximateTokenCounter())``. It sees the whole history at every call,
              and may ask for ``budget``, ``tools`` and ``count``, which counts Haystack's messages
              exactly;
            - a function without arguments that makes one of these.

    Returns:
        A policy, or for a hook or a function without arguments a factory of policies, each with
        the state of one replay.
    """
    if _is_hook(policy):
        return Factory(policy, lambda: _Hook(policy))
    if not is_factory(policy):
        return _whole(policy)

    def new() -> Policy:
        made = policy()
        return _Hook(made) if _is_hook(made) else _whole(made)

    return Factory(policy, new)


def haystack_generator(answer: Callable[[list[Message]], str]) -> Any:
    """Make a chat generator that answers with a function; for summarisers under test.

    Args:
        answer: takes the request as OpenAI-format messages and returns the text, or raises.
    """
    return _Answering(answer)


@dataclass(slots=True)
class _Answering:
    """A chat generator, as far as compactors use one."""

    answer: Callable[[list[Message]], str]

    def run(self, messages: list[Any], **options: Any) -> dict[str, Any]:
        """Answer a request."""
        shapes = require("haystack.dataclasses", adapter="haystack", pip=PIP)
        text = self.answer([found for message in messages for found in CONVERSION.back(message)])
        return {"replies": [shapes.ChatMessage.from_assistant(text)]}


def _is_hook(policy: Any) -> bool:
    return hasattr(policy, "run") and not callable(policy)


def _whole(policy: Any) -> Whole:
    return Whole(func=policy, call=policy, conversion=CONVERSION, may_decline=True)


@dataclass(slots=True)
class _Hook:
    """A hook and the state of the agent it runs in."""

    func: Any
    table: Table = field(default_factory=CONVERSION.table)
    feed: Feed = field(default_factory=lambda: Feed("haystack"))
    messages: list[Any] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send; the agent's state goes on from the last call."""
        self.messages = [*self.messages, *self.table.made(messages, self.feed.new(messages))]
        states = require("haystack.components.agents.state", adapter="haystack", pip=PIP)
        state = states.State(
            schema={"context_tokens": {"type": int}},
            data={"messages": list(self.messages), "context_tokens": 0},
        )
        self.func.run(state)
        self.messages = state.data["messages"]
        return self.table.restored(self.messages, messages)
