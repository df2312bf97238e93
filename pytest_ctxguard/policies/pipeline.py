"""Run several policies one after the other, as one policy."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from inspect import Parameter, Signature, isawaitable
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.declare import undeclared
from pytest_ctxguard.policies.protocol import Policy, bind, made, policy_name
from pytest_ctxguard.transcript.messages import Message


class Pipeline:
    """Give each policy what the one before it returned.

    It takes from a replay what its members name in their signatures (``budget``, ``count``,
    ``tools``, …), and needs what one of them needs. It is awaited if a member is. A member that
    takes no arguments is a factory and is called once, here.

    A member that remembers, such as :class:`SummaryCompaction`, goes first: behind one that
    rewrites what is old it meets a new history again and again, and summarises it anew. A member
    declared ``persists`` cannot be one; declare the whole pipeline.

    Args:
        policies: in order; at least one.

    Raises:
        UsageError: there is none, or one cannot be called.
    """

    def __init__(self, *policies: Policy) -> None:
        if not policies:
            raise UsageError("Pipeline() has no policies; give at least one")
        self._policies = tuple(made(policy, {}) for policy in policies)
        for policy in self._policies:
            if undeclared(policy)[1].persists:
                raise UsageError(
                    f"{policy_name(policy)} persists its cut, which only the whole pipeline can: "
                    "persists(Pipeline(…))"
                )
        self.__signature__ = _signature(self._policies)

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(map(policy_name, self._policies))})"

    def __call__(self, messages: Sequence[Message], /, **offered: Any) -> Any:
        """Return the messages to send, or an awaitable of them."""
        sent: Any = list(messages)
        for number, policy in enumerate(self._policies):
            sent = bind(policy, offered)(sent)
            if isawaitable(sent):
                return self._rest(sent, number + 1, offered)
        return sent

    async def _rest(self, sent: Awaitable[Any], start: int, offered: Mapping[str, Any]) -> Any:
        messages = await sent
        for policy in self._policies[start:]:
            messages = bind(policy, offered)(messages)
            if isawaitable(messages):
                messages = await messages
        return messages


def _signature(policies: Sequence[Policy]) -> Signature:
    """Return a signature that names what the members name, required where one requires it."""
    found: dict[str, Any] = {}
    for policy in policies:
        for parameter in list(inspect.signature(policy).parameters.values())[1:]:
            if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                continue
            optional = parameter.default is not Parameter.empty
            found[parameter.name] = found.get(parameter.name, True) and optional
    messages = Parameter("messages", Parameter.POSITIONAL_ONLY)
    extras = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None if optional else Parameter.empty)
        for name, optional in found.items()
    ]
    return Signature([messages, *extras])
