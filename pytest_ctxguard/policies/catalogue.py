"""The reference policies by name: those of reports A and B, in report order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.policies.clear_tool_uses import ClearToolUses
from pytest_ctxguard.policies.cutting import turn_numbers
from pytest_ctxguard.policies.elide_tool_results import ElideToolResults
from pytest_ctxguard.policies.facts_only import FactsOnly
from pytest_ctxguard.policies.full_history import full_history
from pytest_ctxguard.policies.noted_compaction import NotedCompaction
from pytest_ctxguard.policies.pinned_at_end import PinnedAtEnd
from pytest_ctxguard.policies.pinned_in_system import PinnedInSystem
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.policies.sliding_window import SlidingWindow
from pytest_ctxguard.policies.sub_agent_report import SubAgentReport
from pytest_ctxguard.policies.sub_agent_scope import SubAgentScope
from pytest_ctxguard.policies.summary_compaction import SummaryCompaction
from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit, ThreeStepFit
from pytest_ctxguard.policies.user_messages import UserMessages
from pytest_ctxguard.policies.user_turn_trimmer import UserTurnTrimmer
from pytest_ctxguard.transcript.model import Transcript

SCOPE = 3  # turns of the sub-agent; report B gave its one turns 17 to 19


@dataclass(frozen=True, slots=True)
class Setting:
    """What a reference policy is made for.

    Attributes:
        transcript: what it will be replayed on.
        budget: tokens a request may have.
    """

    transcript: Transcript
    budget: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One reference policy with its defaults.

    Attributes:
        name: how tables and commands call it.
        make: makes a new one; only some look at the setting.
        summarises: whether it needs a summariser.
    """

    name: str
    make: Callable[[Setting], Policy]
    summarises: bool = False


ENTRIES: tuple[Entry, ...] = (
    Entry("full-history", lambda at: full_history),
    Entry("sliding-window", lambda at: SlidingWindow()),
    Entry("compaction", lambda at: SummaryCompaction(), summarises=True),
    Entry("compaction-notes", lambda at: NotedCompaction(), summarises=True),
    Entry("user-messages", lambda at: UserMessages()),
    Entry("pinned-in-system", lambda at: PinnedInSystem()),
    Entry("pinned-at-end", lambda at: PinnedAtEnd()),
    Entry("elide-tool-results", lambda at: ElideToolResults()),
    Entry("facts-only", lambda at: FactsOnly(planted_at=_planted(at.transcript))),
    Entry("sub-agent-scope", lambda at: SubAgentScope(**_scope(at.transcript))),
    Entry("sub-agent-report", lambda at: SubAgentReport(**_scope(at.transcript)), summarises=True),
    Entry("three-step-fit", lambda at: ThreeStepFit()),
    Entry("three-step-fit-counted", lambda at: CountedThreeStepFit()),
    Entry("user-turn-trimmer", lambda at: UserTurnTrimmer()),
    Entry("clear-tool-uses", lambda at: ClearToolUses(trigger=at.budget)),
)


def reference_policies() -> Mapping[str, Entry]:
    """Return name -> entry of each reference policy, in report order."""
    return {entry.name: entry for entry in ENTRIES}


def policy_named(name: str, known: Mapping[str, Entry]) -> Entry:
    """Return one of these entries.

    Raises:
        UsageError: none is named so; the message lists those there are.
    """
    if name not in known:
        raise UsageError(f"no policy is named {name!r}; there are: {', '.join(known)}")
    return known[name]


def _planted(transcript: Transcript) -> tuple[int, ...]:
    return tuple(sorted({fact.planted_at for fact in transcript.facts}))


class _Turns(TypedDict):
    first_turn: int
    last_turn: int


def _scope(transcript: Transcript) -> _Turns:
    """Return the turns up to the one that plants the newest fact; without facts, the first ones.

    That is where report B's sub-agent stood: it was given the turn of one fact, and not that of
    the other.
    """
    numbers = turn_numbers(transcript.messages)
    last = max((numbers[index] for index in _planted(transcript)), default=SCOPE)
    return {"first_turn": max(1, last - SCOPE + 1), "last_turn": max(1, last)}
