"""A replay, asked for."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.planted import problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One replay, asked for.

    Attributes:
        transcript: what to replay.
        policy: a policy, or a factory of one.
        counter: exact counter of requests.
        budget: tokens offered to the policy as ``budget``; must be positive.
        summariser: what the policy is offered as ``summarise``.
        label: the replay's name in keys and reports.
    """

    transcript: Transcript
    policy: Policy
    counter: Counter
    budget: int | None = None
    summariser: Summariser | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.budget is not None and (
            isinstance(self.budget, bool) or not isinstance(self.budget, int) or self.budget < 1
        ):
            raise UsageError(f"budget={self.budget!r}: a budget is a positive number of tokens")
        if not self.transcript.calls:
            raise UsageError(
                f"transcript {self.transcript.name!r} has no calls; there is nothing to replay"
            )
        self._check_facts()

    def _check_facts(self) -> None:
        """Refuse facts that cannot be asked for; those given in Python were never loaded."""
        names = [fact.name for fact in self.transcript.facts]
        for fact in self.transcript.facts:
            if names.count(fact.name) > 1:
                raise UsageError(f"two facts are named {fact.name!r}; rename one")
            problem = problem_of(fact, self.transcript.messages)
            if problem:
                raise UsageError(f"fact {fact.name!r}: {problem}")
