"""pytest-ctxguard: a pytest plugin and regression suite for context policies."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ctxguard.backend import Backend as Backend
    from pytest_ctxguard.backend import Completion as Completion
    from pytest_ctxguard.backend import ToolCall as ToolCall
    from pytest_ctxguard.checks.guarded import GuardedReplay as Replay  # noqa: F401 - public name
    from pytest_ctxguard.errors import ContextGateFailure as ContextGateFailure
    from pytest_ctxguard.errors import CtxguardError as CtxguardError
    from pytest_ctxguard.policies.full_history import full_history as full_history
    from pytest_ctxguard.policies.sliding_window import SlidingWindow as SlidingWindow
    from pytest_ctxguard.policies.three_step_fit import CountedThreeStepFit as CountedThreeStepFit
    from pytest_ctxguard.policies.three_step_fit import ThreeStepFit as ThreeStepFit
    from pytest_ctxguard.policies.user_messages import UserMessages as UserMessages
    from pytest_ctxguard.transcript.document import Document as Document
    from pytest_ctxguard.transcript.loading import read_transcript as read_transcript
    from pytest_ctxguard.transcript.model import Fact as Fact
    from pytest_ctxguard.transcript.model import Transcript as Transcript
    from pytest_ctxguard.transcript.reading import Reader as Reader
    from pytest_ctxguard.transcript.reading import Reading as Reading

# Loaded when first asked for: pytest imports this package in every run.
_PUBLIC = {
    "Backend": "backend:Backend",
    "Completion": "backend:Completion",
    "ContextGateFailure": "errors:ContextGateFailure",
    "CountedThreeStepFit": "policies.three_step_fit:CountedThreeStepFit",
    "CtxguardError": "errors:CtxguardError",
    "Document": "transcript.document:Document",
    "Fact": "transcript.model:Fact",
    "Reader": "transcript.reading:Reader",
    "Reading": "transcript.reading:Reading",
    "Replay": "checks.guarded:GuardedReplay",
    "SlidingWindow": "policies.sliding_window:SlidingWindow",
    "ThreeStepFit": "policies.three_step_fit:ThreeStepFit",
    "ToolCall": "backend:ToolCall",
    "Transcript": "transcript.model:Transcript",
    "UserMessages": "policies.user_messages:UserMessages",
    "full_history": "policies.full_history:full_history",
    "read_transcript": "transcript.loading:read_transcript",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
