"""What the ``ctx_behaviour`` fixture does."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_ctxguard.checks.behaviour import judge_early_stop, judge_tool_choice
from pytest_ctxguard.checks.finding import Judgement
from pytest_ctxguard.checks.guarded import enforce
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.replaying import Source, of_guarded
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.recall.behaviour import EarlyStop, Steps, early_stop, tool_choice
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.replay.run import Plan, run


def behaviour_fixture(item: pytest.Item) -> BehaviourFixture:
    """Return the fixture's value for one test."""
    return BehaviourFixture(*of_guarded(item, fixture="ctx_behaviour"))


@dataclass(frozen=True, slots=True, repr=False)
class BehaviourFixture:
    """Asks the model for its next step; what is promised of it is judged where it is asked."""

    record: TestRecord
    services: Services

    def early_stop(
        self,
        *,
        at_least: int | None = None,
        draws: int = 16,
        budget: int = 8000,
        chapters: int = 40,
        seed: int | None = None,
    ) -> EarlyStop:
        """Ask for the next step of long reading tasks at a quarter of the budget.

        Each task is asked with and without a notice that old results are cleared.

        Args:
            at_least: how many must go on when they have the notice.
            draws: how many tasks.
            budget: tokens the reader is told that it has.
            chapters: that it is to read.
            seed: another one is another sample; default 0. ``--ctxguard-seed`` comes first.

        Raises:
            ContextGateFailure: fewer go on, or the model could not be asked.
            UsageError: the call asks for something impossible.
        """
        __tracebackhide__ = True
        _check("at_least", at_least, most=draws)
        result = early_stop(
            self.services.asker,
            counter=self.services.counter,
            draws=draws,
            budget=budget,
            chapters=chapters,
            seed=self.services.settings.choose("seed", fixture=seed).value,
        )
        self._judge(judge_early_stop(result, at_least=at_least))
        return result

    def tool_choice(
        self,
        transcript: Source,
        policy: Policy,
        *,
        max_unknown: int | None = None,
        budget: int | None = None,
        summariser: Summariser | None = None,
    ) -> Steps:
        """Ask for the next step at each user turn of a transcript, under a policy.

        Args:
            transcript: a name, a path or a transcript; it has tools.
            policy: as for ``ctx_replay``.
            max_unknown: how many steps may call a tool that does not exist.
            budget: tokens the policy is given.
            summariser: what it is given as ``summarise``.

        Raises:
            ContextGateFailure: more do, or the model could not be asked.
            UsageError: the call asks for something impossible.
        """
        __tracebackhide__ = True
        _check("max_unknown", max_unknown)
        asker = self.services.asker
        plan = Plan(
            transcript=self.services.transcript(transcript),
            policy=policy,
            counter=self.services.counter,
            budget=budget,
            summariser=summariser,
        )
        replay = run(plan)
        steps = tool_choice(asker, replay)
        where = f"transcript {replay.transcript.name}, policy {replay.policy}"
        self._judge(judge_tool_choice(steps, max_unknown=max_unknown, where=where))
        return steps

    def _judge(self, judgement: Judgement) -> None:
        __tracebackhide__ = True
        self.services.progress.clear()
        self.record.agents.append(judgement)
        enforce((judgement,))


def _check(name: str, value: int | None, *, most: int | None = None) -> None:
    whole = value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)
    if not whole or (value is not None and most is not None and not 1 <= value <= most):
        allowed = "0 or more" if most is None else f"from 1 to {most}, the draws"
        raise UsageError(f"ctx_behaviour: {name}={value!r} is not a whole number, {allowed}")
