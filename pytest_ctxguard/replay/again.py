"""Run a replay again, with one thing changed, from the policy as it stood before the first run."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.declare import Declared, undeclared
from pytest_ctxguard.policies.protocol import BoundPolicy, is_factory
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.transcript.model import Transcript


class Again(Protocol):
    """Runs a replay again, with one thing changed."""

    def __call__(
        self, *, summariser: Summariser | None = None, transcript: Transcript | None = None
    ) -> Replay:
        """Return the other replay; what is not given is as it was."""
        ...


def repeater(plan: Plan) -> Again:
    """Return what runs a plan again; ask for it before the plan is run.

    A run leaves its marks on a policy with state, so a copy of it is kept, unless it is a
    factory. Where it cannot be copied, running again is a :class:`UsageError`.
    """
    kept: BoundPolicy | None = None
    problem = ""
    if not is_factory(plan.policy):
        policy, shape = undeclared(plan.policy)
        try:
            kept = BoundPolicy(policy, {}, shape).copied()
        except PolicyError as error:
            problem = str(error)

    def again(
        *, summariser: Summariser | None = None, transcript: Transcript | None = None
    ) -> Replay:
        if problem:
            raise UsageError(f"this replay cannot be run again: {problem}")
        changed = replace(
            plan,
            summariser=summariser or plan.summariser,
            transcript=transcript or plan.transcript,
        )
        if kept is None:
            return run(changed)
        fresh = kept.copied()
        return run(replace(changed, policy=Declared(fresh.policy, fresh.shape)))

    return again
