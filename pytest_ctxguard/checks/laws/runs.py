"""Run a policy over a history, call by call, and keep what it did, errors included."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ctxguard.checks.laws.subject import Setting, Subject, copied
from pytest_ctxguard.checks.laws.terms import Terms
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.values import Replay, Request
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript

ANSWER = {"role": "assistant", "content": ""}


@dataclass(frozen=True, slots=True)
class Observed:
    """What a policy did at one call.

    Attributes:
        call: index among the calls of the run.
        history: what it was given, uncut.
        request: what it returned; ``None`` when it raised.
        error: what it raised.
        tokens: of the history; 0 when the policy raised.
    """

    call: int
    history: tuple[Message, ...]
    request: Request | None
    error: Exception | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A fresh policy, run over every call of a history up to its first error.

    Attributes:
        subject: the policy.
        setting: its knobs and budget.
        terms: what it is judged by.
        transcript: the history.
        observed: one for each call.
    """

    subject: Subject
    setting: Setting
    terms: Terms
    transcript: Transcript
    observed: tuple[Observed, ...]

    @property
    def requests(self) -> tuple[tuple[Observed, Request], ...]:
        """What was returned, call by call."""
        return tuple((seen, seen.request) for seen in self.observed if seen.request is not None)

    @property
    def outcome(self) -> tuple[object, ...]:
        """What the run came to, to be compared with that of another setting."""
        return tuple(
            repr(seen.error)
            if seen.request is None
            else (seen.request.origins, seen.request.tokens)
            for seen in self.observed
        )

    def of(self, messages: Sequence[Message]) -> Run:
        """Run another fresh policy, in the same setting, on another history."""
        transcript = as_transcript(messages, tools=self.transcript.tools)
        return run_policy(self.subject, self.setting, terms=self.terms, transcript=transcript)


def as_transcript(
    messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = ()
) -> Transcript:
    """Return a history as a transcript whose last call is made with all of it."""
    if messages and messages[-1].get("role") == "assistant":
        messages = [*messages, ANSWER]  # else the last message would be a call's answer
    return Transcript(name="generated", messages=tuple(messages), tools=tuple(tools))


def run_policy(subject: Subject, setting: Setting, *, terms: Terms, transcript: Transcript) -> Run:
    """Run a fresh policy over every call of a transcript, or up to the first that raises.

    Raises:
        UsageError: the policy cannot be bound.
    """
    calls = transcript.calls
    replayed, error = _attempt(subject, setting, terms=terms, transcript=transcript)
    failing = len(calls)
    if error is not None:  # a longer history raises if a shorter one does: it comes first
        cuts = [replace(transcript, messages=transcript.messages[: c.history]) for c in calls]
        failing = bisect_left(
            range(len(calls) - 1),
            True,
            key=lambda n: (
                _attempt(subject, setting, terms=terms, transcript=cuts[n])[1] is not None
            ),
        )
        replayed, error = None, _attempt(subject, setting, terms=terms, transcript=cuts[failing])[1]
        if failing:
            replayed, _ = _attempt(subject, setting, terms=terms, transcript=cuts[failing - 1])
    observed = [
        Observed(
            place, transcript.messages[: step.call.history], step.request, None, step.history_tokens
        )
        for place, step in enumerate(replayed.steps if replayed else ())
    ]
    if error is not None:
        history = transcript.messages[: calls[failing].history]
        observed.append(Observed(failing, history, None, error))
    return Run(
        subject=subject,
        setting=setting,
        terms=terms,
        transcript=transcript,
        observed=tuple(observed),
    )


def _attempt(
    subject: Subject, setting: Setting, *, terms: Terms, transcript: Transcript
) -> tuple[Replay | None, Exception | None]:
    plan = Plan(
        transcript=replace(transcript, facts=()),
        policy=subject.fresh(setting),
        counter=terms.counter,
        budget=setting.budget,
        summariser=terms.summariser and copied(terms.summariser),
    )
    try:
        return subject.replay(plan), None
    except Exception as error:  # a policy may raise anything
        theirs = any("raised by policy" in note for note in getattr(error, "__notes__", ()))
        if isinstance(error, UsageError) and not theirs:
            raise
        return None, error.with_traceback(None)
