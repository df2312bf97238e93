"""pytest-ctxguard: a pytest plugin and regression suite for context policies."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ctxguard.backend import Backend as Backend
    from pytest_ctxguard.backend import Completion as Completion
    from pytest_ctxguard.backend import ToolCall as ToolCall
    from pytest_ctxguard.checks.agent import AgentRun as AgentRun
    from pytest_ctxguard.checks.finding import Finding as Finding
    from pytest_ctxguard.checks.finding import Judgement as Judgement
    from pytest_ctxguard.checks.guarded import GuardedReplay as Replay  # noqa: F401 - public name
    from pytest_ctxguard.checks.laws.judging import broken_law as broken_law
    from pytest_ctxguard.checks.prefix_hunt import prefix_hunt as prefix_hunt
    from pytest_ctxguard.checks.promise import Case as Case
    from pytest_ctxguard.checks.summariser_faults import summariser_faults as summariser_faults
    from pytest_ctxguard.driver.limited import LimitedBackend as LimitedBackend
    from pytest_ctxguard.driver.run import drive as drive
    from pytest_ctxguard.driver.values import Drive as Drive
    from pytest_ctxguard.driver.values import Job as Job
    from pytest_ctxguard.errors import ContextGateFailure as ContextGateFailure
    from pytest_ctxguard.errors import CtxguardError as CtxguardError
    from pytest_ctxguard.policies.clear_tool_uses import ClearToolUses as ClearToolUses
    from pytest_ctxguard.policies.command import command_policy as command_policy
    from pytest_ctxguard.policies.declare import mutates as mutates
    from pytest_ctxguard.policies.declare import persists as persists
    from pytest_ctxguard.policies.elide_tool_results import ElideToolResults as ElideToolResults
    from pytest_ctxguard.policies.facts_only import FactsOnly as FactsOnly
    from pytest_ctxguard.policies.full_history import full_history as full_history
    from pytest_ctxguard.policies.noted_compaction import NotedCompaction as NotedCompaction
    from pytest_ctxguard.policies.pinned_at_end import PinnedAtEnd as PinnedAtEnd
    from pytest_ctxguard.policies.pinned_in_system import PinnedInSystem as PinnedInSystem
    from pytest_ctxguard.policies.pipeline import Pipeline as Pipeline
    from pytest_ctxguard.policies.sliding_window import SlidingWindow as SlidingWindow
    from pytest_ctxguard.policies.sub_agent_report import SubAgentReport as SubAgentReport
    from pytest_ctxguard.policies.sub_agent_scope import SubAgentScope as SubAgentScope
    from pytest_ctxguard.policies.summarisers import ScriptedSummariser as ScriptedSummariser
    from pytest_ctxguard.policies.summary_compaction import SummaryCompaction as SummaryCompaction
    from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit as CountedThreeStepFit
    from pytest_ctxguard.policies.three_step_fit import ThreeStepFit as ThreeStepFit
    from pytest_ctxguard.policies.user_messages import UserMessages as UserMessages
    from pytest_ctxguard.policies.user_turn_trimmer import UserTurnTrimmer as UserTurnTrimmer
    from pytest_ctxguard.tokens.counters.choosing import counter as counter
    from pytest_ctxguard.transcript.document import Document as Document
    from pytest_ctxguard.transcript.loading import read_transcript as read_transcript
    from pytest_ctxguard.transcript.model import Fact as Fact
    from pytest_ctxguard.transcript.model import ToolProbe as ToolProbe
    from pytest_ctxguard.transcript.model import Transcript as Transcript
    from pytest_ctxguard.transcript.placing import Plant as Plant
    from pytest_ctxguard.transcript.placing import Sentence as Sentence
    from pytest_ctxguard.transcript.planting import plant as plant
    from pytest_ctxguard.transcript.reading import Reader as Reader
    from pytest_ctxguard.transcript.reading import Reading as Reading
    from pytest_ctxguard.transcript.replicating import plant_many as plant_many

# Loaded when first asked for: pytest imports this package in every run.
_PUBLIC = {
    "AgentRun": "checks.agent:AgentRun",
    "Backend": "backend:Backend",
    "Case": "checks.promise:Case",
    "ClearToolUses": "policies.clear_tool_uses:ClearToolUses",
    "Completion": "backend:Completion",
    "ContextGateFailure": "errors:ContextGateFailure",
    "CountedThreeStepFit": "policies.three_step_fit:CountedThreeStepFit",
    "CtxguardError": "errors:CtxguardError",
    "Document": "transcript.document:Document",
    "Drive": "driver.values:Drive",
    "ElideToolResults": "policies.elide_tool_results:ElideToolResults",
    "Fact": "transcript.model:Fact",
    "FactsOnly": "policies.facts_only:FactsOnly",
    "Finding": "checks.finding:Finding",
    "Job": "driver.values:Job",
    "Judgement": "checks.finding:Judgement",
    "LimitedBackend": "driver.limited:LimitedBackend",
    "NotedCompaction": "policies.noted_compaction:NotedCompaction",
    "PinnedAtEnd": "policies.pinned_at_end:PinnedAtEnd",
    "PinnedInSystem": "policies.pinned_in_system:PinnedInSystem",
    "Pipeline": "policies.pipeline:Pipeline",
    "Plant": "transcript.placing:Plant",
    "Reader": "transcript.reading:Reader",
    "Reading": "transcript.reading:Reading",
    "Replay": "checks.guarded:GuardedReplay",
    "ScriptedSummariser": "policies.summarisers:ScriptedSummariser",
    "Sentence": "transcript.placing:Sentence",
    "SlidingWindow": "policies.sliding_window:SlidingWindow",
    "SubAgentReport": "policies.sub_agent_report:SubAgentReport",
    "SubAgentScope": "policies.sub_agent_scope:SubAgentScope",
    "SummaryCompaction": "policies.summary_compaction:SummaryCompaction",
    "ThreeStepFit": "policies.three_step_fit:ThreeStepFit",
    "ToolCall": "backend:ToolCall",
    "ToolProbe": "transcript.model:ToolProbe",
    "Transcript": "transcript.model:Transcript",
    "UserMessages": "policies.user_messages:UserMessages",
    "UserTurnTrimmer": "policies.user_turn_trimmer:UserTurnTrimmer",
    "broken_law": "checks.laws.judging:broken_law",
    "command_policy": "policies.command:command_policy",
    "counter": "tokens.counters.choosing:counter",
    "drive": "driver.run:drive",
    "full_history": "policies.full_history:full_history",
    "mutates": "policies.declare:mutates",
    "persists": "policies.declare:persists",
    "plant": "transcript.planting:plant",
    "plant_many": "transcript.replicating:plant_many",
    "prefix_hunt": "checks.prefix_hunt:prefix_hunt",
    "read_transcript": "transcript.loading:read_transcript",
    "summariser_faults": "checks.summariser_faults:summariser_faults",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
