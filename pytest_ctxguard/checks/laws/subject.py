"""The policy under law: fresh for every run, with each value of its own knobs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.protocol import (
    BoundPolicy,
    Policy,
    bind,
    is_factory,
    made,
    policy_name,
)
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.run import run
from pytest_ctxguard.replay.values import Replay

MOST_COMBINATIONS = 1_000


@dataclass(frozen=True, slots=True)
class Setting:
    """What one run sets: the policy's knobs, and the budget it is offered."""

    knobs: Mapping[str, Any] = field(default_factory=dict)
    budget: int | None = None

    def __str__(self) -> str:
        """Return the setting for a finding, or nothing."""
        values = [f"{name}={value!r}" for name, value in self.knobs.items()]
        if self.budget is not None and "budget" not in self.knobs:
            values.append(f"budget={self.budget}")
        return ", ".join(values)


@dataclass(frozen=True, slots=True)
class Subject:
    """A policy and the values of its knobs that are swept.

    Attributes:
        policy: a policy, a factory of one, or a factory that takes the knobs.
        knobs: every combination of the knobs' values; one empty one without knobs. A knob named
            ``budget`` is the token budget.
        takes: which of what a replay offers it takes: ``budget``, ``count``, ``tools``.
        replay: runs it over a transcript: in an event loop of its own, or in the test's.
    """

    policy: Policy
    knobs: tuple[Mapping[str, Any], ...] = ({},)
    takes: frozenset[str] = frozenset()
    replay: Callable[[Plan], Replay] = run

    @property
    def name(self) -> str:
        """The policy's name for reports."""
        return policy_name(self.policy)

    @property
    def budgeted(self) -> bool:
        """Whether the policy has a token budget: offered, or as a knob."""
        return "budget" in self.takes or "budget" in self.knobs[0]

    def fresh(self, setting: Setting) -> Policy:
        """Return a policy, or a factory of one, that has seen nothing yet.

        Raises:
            UsageError: the policy keeps state and cannot be copied.
        """
        if setting.knobs:
            turned = partial(self.policy, **setting.knobs)
            if is_factory(turned):
                return turned
            return partial(copied(self.policy), **setting.knobs)
        return self.policy if is_factory(self.policy) else copied(self.policy)


def copied(value: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of something callable, whose state no longer follows the original's.

    Raises:
        UsageError: it cannot be copied.
    """
    try:
        return BoundPolicy(value, {}).copied().policy
    except PolicyError as error:
        raise UsageError(
            f"{policy_name(value)} cannot be copied, and each run of the laws needs a fresh one. "
            "Give a factory: a function without arguments that returns a new policy."
        ) from error


def make_subject(
    policy: Policy,
    sweep: Mapping[str, Iterable[Any]] | None = None,
    *,
    replay: Callable[[Plan], Replay] = run,
) -> Subject:
    """Check and complete the policy and the sweep a user gave.

    Raises:
        UsageError: a knob the policy does not have, without values, or too many combinations.
    """
    if not callable(policy):
        raise UsageError(f"{policy!r} is not a policy: it cannot be called")
    listed = {name: tuple(values) for name, values in (sweep or {}).items()}
    _check_knobs(policy, listed)
    knobs = tuple(dict(zip(listed, row, strict=True)) for row in product(*listed.values()))
    if len(knobs) > MOST_COMBINATIONS:
        raise UsageError(
            f"sweep has {len(knobs)} combinations of values; at most {MOST_COMBINATIONS} are run"
        )
    offered = {"budget": 1, "count": len, "tools": [], "summarise": str}
    bound = bind(made(Subject(policy, knobs).fresh(Setting(knobs[0])), offered), offered)
    return Subject(policy, knobs, frozenset(bound.extras) - frozenset(listed), replay)


def _check_knobs(policy: Policy, listed: Mapping[str, tuple[Any, ...]]) -> None:
    parameters = inspect.signature(policy).parameters if listed else {}
    free = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name, values in listed.items():
        if name not in parameters and not free:
            raise UsageError(
                f"sweep names {name!r}, which {policy_name(policy)} does not take; it takes: "
                f"{', '.join(parameters)}"
            )
        if not values:
            raise UsageError(f"sweep gives no value for {name!r}")
        if name == "budget" and not all(type(v) is int and v > 0 for v in values):
            raise UsageError("sweep: a budget is a positive number of tokens")
