"""What a replay gives: steps, probe requests, token use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.replay.calls import Counted, Summary
from pytest_ctxguard.replay.carried import Carried, sightings
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.tokens.buckets import Buckets, Counter, buckets
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Call, Transcript


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent for one call; the tools are the transcript's.

    Attributes:
        messages: as the policy returned them.
        origins: for each message, where it came from.
        tokens: exact size, tools and template included.
        acted: whether it differs from the uncut history.
        mutated: what the policy changed in place of what it was handed, and declared not to (a
            defect).
        aliased: whether the policy returned the very list it was handed, and did not declare it.
        given_tokens: exact size of the request that what it was handed would make: the uncut
            history, or where it persists its cuts what was left of it; 0: not counted.
        cut: whether the request differs from what the policy was handed.
        summaries: what its summariser was shown for this request, and returned.
        counted: what it counted with ``count``.
    """

    messages: tuple[Message, ...]
    origins: tuple[Origin, ...]
    tokens: int
    acted: bool
    mutated: tuple[str, ...] = ()
    aliased: bool = False
    given_tokens: int = 0
    cut: bool = False
    summaries: tuple[Summary, ...] = ()
    counted: Counted = field(default_factory=Counted)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the transcript, replayed.

    Attributes:
        call: the call.
        request: what is sent for it.
        history_tokens: exact size of the request that the uncut history would make.
    """

    call: Call
    request: Request
    history_tokens: int


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Input tokens of a replay, in the counter's unit.

    Attributes:
        by_call: tokens of each request.
    """

    by_call: tuple[int, ...]

    @property
    def billed(self) -> int:
        """Input tokens over all calls, each request paid in full."""
        return sum(self.by_call)

    @property
    def final(self) -> int:
        """Tokens of the last request."""
        return self.by_call[-1]


@dataclass(frozen=True, slots=True, repr=False)
class Replay:
    """A transcript replayed under a policy.

    Attributes:
        transcript: what was replayed.
        policy: the policy's name, for reports.
        label: the ``name`` given to this replay, or empty.
        budget: tokens the policy was asked to stay within, or ``None``.
        counter: what counted the tokens.
        steps: one per call, in order.
        probes: fact name -> one request per wording.
        summarises: whether the policy was given a summariser.
        persists: whether it was declared to write its cuts back into the history.
    """

    transcript: Transcript
    policy: str
    label: str
    budget: int | None
    counter: Counter
    steps: tuple[Step, ...]
    probes: Mapping[str, tuple[Request, ...]] = field(default_factory=dict)
    summarises: bool = False
    persists: bool = False

    def __repr__(self) -> str:
        """Name the replay; its requests would fill pages of a failing test's report."""
        label = f" {self.label!r}" if self.label else ""
        return f"<Replay{label} of {self.transcript.name} under {self.policy}>"

    @property
    def final(self) -> Step:
        """The last step."""
        return self.steps[-1]

    @property
    def tokens(self) -> TokenUse:
        """Input tokens, by call and in total."""
        return TokenUse(tuple(step.request.tokens for step in self.steps))

    @property
    def acted(self) -> bool:
        """Whether the policy changed any request."""
        return any(step.request.acted for step in self.steps)

    @property
    def summaries(self) -> tuple[tuple[Summary, ...], ...]:
        """For each step, what the policy's summariser was shown and returned."""
        return tuple(step.request.summaries for step in self.steps)

    @property
    def summary_tokens(self) -> int:
        """Input tokens of all that the summariser was shown at the calls; not part of billed."""
        return sum(summary.tokens for summaries in self.summaries for summary in summaries)

    def buckets(self, step: Step | None = None) -> Buckets:
        """Split the tokens of one step (the last one by default) by what they carry."""
        request = (step or self.final).request
        return buckets(self.counter, request.messages, tools=self.transcript.tools)

    def carried(self, fact: str) -> Carried:
        """Say in which requests a fact's value stands, and where it comes from.

        Raises:
            UsageError: the transcript has no such fact.
        """
        planted = self.transcript.fact(fact)
        source = self.transcript.messages[planted.planted_at]
        known: dict[int, bool] = {}  # the messages live as long as this

        def look(requests: Sequence[Request]) -> tuple[Any, ...]:
            return tuple(
                sightings(planted, r.messages, origins=r.origins, planted=source, known=known)
                for r in requests
            )

        after = [s.request for s in self.steps if s.call.history > planted.planted_at]
        return Carried(planted.name, look(self.probes[planted.name]), look(after))


def digest(value: Any) -> str:
    """Return a short hash of a JSON value, for fingerprints; key order counts, as in tokens."""
    text = json.dumps(value, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
