"""Run a replay again, with something changed, from the policy as it stood before the first run."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, TypedDict, Unpack

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.declare import Declared, undeclared
from pytest_ctxguard.policies.protocol import BoundPolicy, is_factory
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.transcript.model import Transcript


class Change(TypedDict, total=False):
    """What may be changed of a plan."""

    summariser: Summariser
    transcript: Transcript
    budget: int


class Again(Protocol):
    """Runs a replay again, with something changed."""

    def __call__(self, **change: Unpack[Change]) -> Replay:
        """Return the other replay; what is not given is as it was."""
        ...


class Afresh(Protocol):
    """Plans a replay again, with something changed."""

    def __call__(self, **change: Unpack[Change]) -> Plan:
        """Return the other plan; what is not given is as it was."""
        ...


def planner(plan: Plan) -> Afresh:
    """Return what gives a plan again, each time with a policy of its own; ask for it before a run.

    A run leaves its marks on a policy with state, so a copy of it is kept, unless it is a
    factory. Where it cannot be copied, planning again is a :class:`UsageError`.
    """
    kept: BoundPolicy | None = None
    problem = ""
    if not is_factory(plan.policy):
        policy, shape = undeclared(plan.policy)
        try:
            kept = BoundPolicy(policy, {}, shape).copied()
        except PolicyError as error:
            problem = str(error)

    def afresh(**change: Unpack[Change]) -> Plan:
        if problem:
            raise UsageError(f"this replay cannot be run again: {problem}")
        if kept is None:
            return replace(plan, **change)
        fresh = kept.copied()
        return replace(plan, policy=Declared(fresh.policy, fresh.shape), **change)

    return afresh


def repeater(plan: Plan) -> Again:
    """Return what runs a plan again; ask for it before the plan is run, as :func:`planner` is."""
    afresh = planner(plan)

    def again(**change: Unpack[Change]) -> Replay:
        return run(afresh(**change))

    return again
