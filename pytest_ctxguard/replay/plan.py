"""A replay, asked for."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.replay.recorder import Summariser
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.facts import check_facts
from pytest_ctxguard.transcript.model import Transcript


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
        check_facts(self.transcript)  # those given in Python were never loaded
