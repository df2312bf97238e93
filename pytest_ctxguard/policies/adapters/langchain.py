"""Policies of LangChain: ``trim_messages``, context edits and agent middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.conversion import Factory, Table, Whole
from pytest_ctxguard.policies.adapters.feed import Feed
from pytest_ctxguard.policies.adapters.framework import require
from pytest_ctxguard.policies.adapters.langchain_messages import CORE, conversion
from pytest_ctxguard.policies.protocol import Policy, is_factory
from pytest_ctxguard.transcript.messages import Message, is_instruction

PIP = "langchain>=1.5"


def langchain(policy: Any, *, prompt_in_state: bool = False) -> Policy:
    """Adapt a policy of LangChain.

    Args:
        policy: one of

            - a function or Runnable from messages to messages, such as
              ``partial(trim_messages, max_tokens=1500, token_counter="approximate")``. It may ask
              for ``budget``, ``tools`` and ``count``, which counts LangChain messages exactly. It
              sees the whole history at every call;
            - a context edit, such as ``ClearToolUsesEdit(trigger=1500)``: applied to a copy of
              the whole history at every call, as ``ContextEditingMiddleware`` does;
            - a middleware, such as ``SummarizationMiddleware(…)``, run as an agent of
              ``create_agent`` runs it: what ``before_model`` returns is merged into the agent's
              state and stays there, new messages are appended to it at each call, and
              ``wrap_model_call`` decides what the model is sent;
            - a function without arguments that makes one of these.
        prompt_in_state: leave the leading system message among a middleware's messages;
            ``create_agent`` keeps it apart.

    Returns:
        A policy, or for a middleware or a function without arguments a factory of policies, each
        with the state of one replay.
    """
    plain = hasattr(policy, "apply") or hasattr(policy, "invoke")
    if _is_middleware(policy):
        return Factory(policy, lambda: _Middleware(policy, prompt_in_state))
    if plain or not is_factory(policy):
        return _whole(policy)

    def new() -> Policy:
        made = policy()
        return _Middleware(made, prompt_in_state) if _is_middleware(made) else _whole(made)

    return Factory(policy, new)


def _is_middleware(policy: Any) -> bool:
    return hasattr(policy, "before_model") and hasattr(policy, "wrap_model_call")


def _whole(policy: Any) -> Whole:
    call = policy
    if hasattr(policy, "apply"):
        call = partial(_applied, policy)
    elif hasattr(policy, "invoke"):
        call = policy.invoke
    return Whole(func=policy, call=call, conversion=conversion("langchain"))


def _applied(edit: Any, messages: list[Any]) -> list[Any]:
    counters = require("langchain_core.messages.utils", adapter="langchain", pip=CORE)
    edit.apply(messages, count_tokens=counters.count_tokens_approximately)
    return messages


@dataclass(slots=True)
class _Middleware:
    """A middleware and the state of the agent it runs in."""

    func: Any
    prompt_in_state: bool
    table: Table = field(default_factory=conversion("langchain").table)
    feed: Feed = field(default_factory=lambda: Feed("langchain"))
    state: dict[str, Any] = field(default_factory=lambda: {"messages": []})
    prompt: Any = None

    def __call__(
        self, messages: Sequence[Message], *, tools: Sequence[Any] = ()
    ) -> list[Message] | Awaitable[list[Message]]:
        """Return the messages to send; the agent's state goes on from the last call."""
        new = self.feed.new(messages)
        if not self.prompt_in_state and 0 in new and is_instruction(messages[0]):
            (self.prompt,) = self.table.made(messages, [0])
            new = new[1:]
        self._merge({"messages": self.table.made(messages, new)})
        sync = self._overrides("before_model"), self._overrides("wrap_model_call")
        either = (
            sync[0] or self._overrides("abefore_model"),
            sync[1] or self._overrides("awrap_model_call"),
        )
        if sync != either:
            return self._sent_async(messages, tools)
        if sync[0]:
            self._merge(self.func.before_model(self.state, self._runtime()))
        request = self._request(tools)
        if sync[1]:
            sent = _Sent()
            self.func.wrap_model_call(request, sent)
            request = sent.request()
        return self._restored(request, messages)

    async def _sent_async(self, messages: Sequence[Message], tools: Sequence[Any]) -> list[Message]:
        if self._overrides("abefore_model"):
            self._merge(await self.func.abefore_model(self.state, self._runtime()))
        elif self._overrides("before_model"):
            self._merge(self.func.before_model(self.state, self._runtime()))
        request = self._request(tools)
        sent = _Sent()
        if self._overrides("awrap_model_call"):
            await self.func.awrap_model_call(request, sent.wait)
            request = sent.request()
        elif self._overrides("wrap_model_call"):
            self.func.wrap_model_call(request, sent)
            request = sent.request()
        return self._restored(request, messages)

    def _overrides(self, method: str) -> bool:
        base = _module("langchain.agents.middleware").AgentMiddleware
        return getattr(type(self.func), method) is not getattr(base, method)

    def _merge(self, update: dict[str, Any] | None) -> None:
        update = dict(update or {})
        merge = _module("langgraph.graph.message").add_messages
        merged = merge(self.state["messages"], update.pop("messages", []))
        self.state = {**self.state, **update, "messages": merged}

    def _runtime(self) -> Any:
        return _module("langgraph.runtime").Runtime()

    def _request(self, tools: Sequence[Any]) -> Any:
        return _module("langchain.agents.middleware").ModelRequest(
            model=None,
            messages=list(self.state["messages"]),
            system_message=self.prompt,
            tools=list(tools),
            state=self.state,
            runtime=self._runtime(),
        )

    def _restored(self, request: Any, messages: Sequence[Message]) -> list[Message]:
        prompt = [] if request.system_message is None else [request.system_message]
        return self.table.restored([*prompt, *request.messages], messages)


@dataclass(slots=True)
class _Sent:
    """The end of a middleware's chain: keeps the request instead of asking a model."""

    first: Any = None

    def __call__(self, request: Any) -> Any:
        if self.first is None:
            self.first = request
        core = require("langchain_core.messages", adapter="langchain", pip=CORE)
        answer = core.AIMessage(content="")
        return _module("langchain.agents.middleware").ModelResponse(result=[answer])

    async def wait(self, request: Any) -> Any:
        """Keep the request of an async chain."""
        return self(request)

    def request(self) -> Any:
        """Return the first request that would have been sent."""
        if self.first is None:
            raise PolicyError(
                "adapt.langchain: the middleware answered without calling the model, so there is "
                "no request to judge. Remedy: adapt the middleware that edits the messages alone"
            )
        return self.first


def _module(name: str) -> Any:
    return require(name, adapter="langchain", pip=PIP)
