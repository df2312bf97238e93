"""How a policy is called, whatever its shape.

A policy takes the history, a list of OpenAI-format message dicts, and returns the messages to
send. It is a plain or async function or any callable object. It gets more by naming it in its
signature:

- ``budget``: the tokens a request may have, tools and template included;
- ``count``: a function from messages to the exact tokens of the request they make, tools and
  template included;
- ``tools``: the tool definitions.

A callable that takes no arguments is a *factory*: it is called once and gives the policy.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any

from pytest_ctxguard.errors import PolicyError, UsageError

Policy = Callable[..., Any]
OFFERED = ("budget", "count", "tools")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy together with the extra arguments its signature asks for."""

    policy: Policy
    extras: Mapping[str, Any]

    def __call__(self, history: list[dict[str, Any]]) -> Any:
        """Run the policy on a history; returns what it returns, an awaitable if it is async."""
        return self.policy(history, **self.extras)

    def copied(self) -> BoundPolicy:
        """Return a copy whose state no longer follows this one's.

        Raises:
            PolicyError: the policy cannot be copied.
        """
        try:
            return BoundPolicy(_copy(self.policy, {}), self.extras)
        except Exception as error:  # __deepcopy__ and __reduce__ are user code
            raise PolicyError(
                f"policy {policy_name(self.policy)} cannot be copied ({error!r}), and each probe "
                "runs on a copy. Give a factory instead: a function without arguments that "
                "returns a new policy."
            ) from error


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
    twin.__kwdefaults__ = value.__kwdefaults__
    return twin


def bind(policy: Policy, offered: Mapping[str, Any]) -> BoundPolicy:
    """Match a policy's signature with what a replay can offer it.

    Args:
        policy: the policy, not a factory.
        offered: argument name -> value; a value of ``None`` is not to be had.

    Raises:
        UsageError: it is not callable, takes no history, or needs an argument nobody offers.
    """
    parameters = _parameters(policy)
    if not any(p.kind in (*POSITIONAL, p.VAR_POSITIONAL) for p in parameters):
        raise UsageError(f"{policy_name(policy)} takes no messages; a policy takes the history")
    extras = {}
    for parameter in parameters[1:]:
        value = offered.get(parameter.name)
        if value is not None:
            extras[parameter.name] = value
        elif parameter.default is parameter.empty and parameter.kind in (
            *POSITIONAL,
            parameter.KEYWORD_ONLY,
        ):
            raise UsageError(_missing(policy, parameter.name))
    return BoundPolicy(policy, extras)


def is_factory(policy: Policy) -> bool:
    """Tell whether a callable takes no arguments and so makes the policy."""
    return not any(
        p.kind in (*POSITIONAL, p.VAR_POSITIONAL) or p.default is p.empty
        for p in _parameters(policy)
        if p.kind is not p.VAR_KEYWORD
    )


def policy_name(policy: Any) -> str:
    """Return a policy's name for reports."""
    while hasattr(policy, "func"):  # functools.partial
        policy = policy.func
    name = getattr(policy, "__qualname__", None) or type(policy).__qualname__
    return str(name)


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
    return (
        f"policy {policy_name(policy)} needs an argument {name!r}, and a replay offers "
        f"{', '.join(OFFERED)}. Bind it: functools.partial(policy, {name}=…)."
    )
