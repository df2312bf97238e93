"""How a policy is called, whatever its shape.

A policy takes the history, a list of OpenAI-format message dicts, and returns the messages to
send. It is a plain or async function or any callable object. It gets more by naming it in its
signature:

- ``budget``: the tokens a request may have, tools and template included;
- ``count``: a function from messages to the exact tokens of the request they make, tools and
  template included;
- ``tools``: the tool definitions;
- ``summarise``: the summariser given to the replay: a function from messages, or one text, to a
  text, or ``None`` where the model gave no text. It takes ``max_tokens`` and ``tools``, too. An
  async policy (``async def``, or an object with an ``async __call__``) awaits it; any other
  policy does not.

A callable that takes no arguments, or none but ``summarise``, is a *factory*: it is called once
and gives the policy. What a signature cannot say is declared, see
:mod:`pytest_ctxguard.policies.declare`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isawaitable, iscoroutinefunction
from types import CellType, FunctionType, ModuleType
from typing import Any

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.declare import Declared, Shape, undeclared

Policy = Callable[..., Any]
OFFERED = ("budget", "count", "tools", "summarise")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy together with the extra arguments its signature asks for."""

    policy: Policy
    extras: Mapping[str, Any]
    shape: Shape = field(default_factory=Shape)

    def __call__(self, history: list[dict[str, Any]]) -> Any:
        """Run the policy on a history; returns what it returns, an awaitable if it is async.

        Of a declared mutator that returns ``None``, the history it edited is returned.
        """
        output = self.policy(history, **self.extras)
        if not self.shape.mutates:
            return output
        if isawaitable(output):
            return _awaited(output, history)
        return history if output is None else output

    def copied(self) -> BoundPolicy:
        """Return a copy whose state no longer follows this one's.

        Raises:
            PolicyError: the policy cannot be copied.
        """
        try:
            return BoundPolicy(_copy(self.policy, {}), self.extras, self.shape)
        except Exception as error:  # __deepcopy__ and __reduce__ are user code
            raise PolicyError(
                f"policy {policy_name(self.policy)} cannot be copied ({error!r}), and each probe "
                "runs on a copy. Give a factory instead: a function without arguments that "
                "returns a new policy."
            ) from error


async def _awaited(output: Awaitable[Any], history: list[dict[str, Any]]) -> Any:
    result = await output
    return history if result is None else result


def _copy(value: Any, known: dict[int, CellType]) -> Any:
    """Copy a policy deeply, closures included: ``deepcopy`` gives a function back as it is."""
    if isinstance(value, ModuleType):
        return value
    if not isinstance(value, FunctionType) or not value.__closure__:
        return copy.deepcopy(value)
    cells = []
    for cell in value.__closure__:
        if id(cell) not in known:
            known[id(cell)] = CellType()  # before its content, which may be this very function
            with suppress(ValueError):  # a cell may still be empty
                known[id(cell)].cell_contents = _copy(cell.cell_contents, known)
        cells.append(known[id(cell)])
    twin = FunctionType(
        value.__code__, value.__globals__, value.__name__, value.__defaults__, tuple(cells)
    )
    twin.__kwdefaults__, twin.__qualname__ = value.__kwdefaults__, value.__qualname__
    return twin


def bind(policy: Policy, offered: Mapping[str, Any]) -> BoundPolicy:
    """Match a policy's signature with what a replay can offer it.

    Args:
        policy: the policy, not a factory.
        offered: argument name -> value; a value of ``None`` is not to be had.

    Raises:
        UsageError: it is not callable, takes no history, or needs an argument nobody offers.
    """
    policy, shape = undeclared(policy)
    parameters = _parameters(policy)
    if not any(p.kind in (*POSITIONAL, p.VAR_POSITIONAL) for p in parameters):
        raise UsageError(f"{policy_name(policy)} takes no messages; a policy takes the history")
    return BoundPolicy(policy, _extras(policy, parameters[1:], offered), shape)


def _extras(
    policy: Policy, parameters: list[inspect.Parameter], offered: Mapping[str, Any]
) -> dict[str, Any]:
    extras = {}
    for parameter in parameters:
        value = offered.get(parameter.name)
        if value is not None:
            extras[parameter.name] = value
        elif parameter.default is parameter.empty and parameter.kind in (
            *POSITIONAL,
            parameter.KEYWORD_ONLY,
        ):
            raise UsageError(_missing(policy, parameter.name))
    return extras


def is_factory(policy: Policy) -> bool:
    """Tell whether a callable takes no messages and so makes the policy.

    It may take ``summarise``: a framework's own summariser is built around it.
    """
    return not any(
        p.kind in (*POSITIONAL, p.VAR_POSITIONAL) or p.default is p.empty
        for p in _parameters(undeclared(policy)[0])
        if p.kind is not p.VAR_KEYWORD and p.name != "summarise"
    )


def made(policy: Policy, offered: Mapping[str, Any]) -> Policy:
    """Return the policy a factory makes, or the policy given; what was declared of it holds."""
    policy, shape = undeclared(policy)
    mine = {"summarise": offered.get("summarise")}  # a factory's own `budget` is its own affair
    while is_factory(policy):
        policy, more = undeclared(policy(**_extras(policy, _parameters(policy), mine)))
        shape |= more
    return policy if shape == Shape() else Declared(policy, shape)


def is_async(policy: Any) -> bool:
    """Tell whether calling a policy gives an awaitable, as far as can be seen before calling."""
    policy = _innermost(policy)
    return iscoroutinefunction(policy) or iscoroutinefunction(type(policy).__call__)


def policy_name(policy: Any) -> str:
    """Return a policy's name for reports."""
    policy = _innermost(policy)
    name = getattr(policy, "__qualname__", None) or type(policy).__qualname__
    return str(name)


def _innermost(policy: Any) -> Any:
    policy = undeclared(policy)[0]
    while hasattr(policy, "func"):  # functools.partial
        policy = undeclared(policy.func)[0]
    return policy


def _parameters(policy: Policy) -> list[inspect.Parameter]:
    if not callable(policy):
        raise UsageError(f"{policy!r} is not a policy: it cannot be called")
    try:
        return list(inspect.signature(policy).parameters.values())
    except ValueError as error:  # a builtin without a signature
        raise UsageError(
            f"{policy_name(policy)} has no signature to read. Wrap it: "
            "lambda messages: policy(messages)"
        ) from error


def _missing(policy: Policy, name: str) -> str:
    if name == "budget":
        return (
            f"policy {policy_name(policy)} needs a budget. Give ctx_replay(…, budget=N) or mark "
            "the test with ctx_budget(N)."
        )
    if name == "summarise":
        return (
            f"policy {policy_name(policy)} needs a summariser. Give ctx_replay(…, summariser=…), "
            "a function from messages or text to text; ScriptedSummariser() of "
            "pytest_ctxguard.testing is one that needs no model."
        )
    return (
        f"policy {policy_name(policy)} needs an argument {name!r}, and a replay offers "
        f"{', '.join(OFFERED)}. Bind it: functools.partial(policy, {name}=…)."
    )
