"""What a replay gives: steps, probe requests, token use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pytest_ctxguard.prefix.changes import Change, changes
from pytest_ctxguard.prefix.cost import BreakEven, Cost, cuts
from pytest_ctxguard.prefix.recorded import Traffic, answer_of, output_of, seconds
from pytest_ctxguard.prefix.rules import Rule, find_rule, load_rules
from pytest_ctxguard.prefix.sent import Sent
from pytest_ctxguard.prefix.simulate import simulate
from pytest_ctxguard.replay.bucket_use import bucket_use, request_buckets
from pytest_ctxguard.replay.calls import Counted, Summary, SummaryUse, summary_use
from pytest_ctxguard.replay.carried import Carried, carried
from pytest_ctxguard.replay.fate import Fate, fate
from pytest_ctxguard.replay.origin import Origin
from pytest_ctxguard.tokens.bucket_use import BucketUse
from pytest_ctxguard.tokens.buckets import Buckets, Counter, Tools
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Call, Fact, Transcript


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent for one call.

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
        tools: the tool definitions sent with it; ``None``: the transcript's.
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
    tools: Tools | None = None

    def offered(self, transcript: Transcript) -> Tools:
        """Return the tool definitions sent with it; those of its transcript, or its own."""
        return transcript.tools if self.tools is None else self.tools


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
        takes_budget: whether it was given the budget, which it asks for in its signature.
        traffic: what was sent, where that is on record and no policy was run: then there are no
            probes.
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
    takes_budget: bool = False
    traffic: Traffic | None = None

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
    def summary_use(self) -> SummaryUse:
        """What the summariser took at the calls; not part of billed."""
        return summary_use(chain.from_iterable(self.summaries))

    @property
    def probe_summary_use(self) -> SummaryUse:
        """What it took for the probes, which no session would pay."""
        asked = chain.from_iterable(self.probes.values())
        return summary_use(summary for request in asked for summary in request.summaries)

    def buckets(self, step: Step | None = None) -> Buckets:
        """Split the tokens of one step (the last one by default) by what they carry."""
        request = (step or self.final).request
        return request_buckets(request, transcript=self.transcript, counter=self.counter)

    @property
    def bucket_use(self) -> BucketUse:
        """What every request carries, by call and turn, and how much of it was resent."""
        return bucket_use(self)

    @property
    def sent(self) -> tuple[Sent, ...]:
        """The requests of all calls, as a provider's cache is shown them."""
        if self.traffic is not None:
            return self.traffic.requests
        return tuple(
            Sent(
                messages=step.request.messages,
                tools=self.transcript.tools,
                answer=answer_of(self.transcript, step.call),
                tokens=step.request.tokens,
                at=seconds(step.call),
                output=output_of(self.transcript, step.call, counter=self.counter),
                session=0,
            )
            for step in self.steps
        )

    @property
    def changes(self) -> tuple[Change, ...]:
        """What changed from each request to the next, in the order of tools, system, messages."""
        return changes(self.sent, counter=self.counter)

    def cost(
        self,
        provider: str = "",
        *,
        pace: float | None = None,
        rules: Mapping[str, Rule] | None = None,
    ) -> Cost:
        """Return what the session costs with a provider's prompt cache.

        Args:
            provider: the name of its rules; empty: of recorded traffic, those it goes by.
            pace: seconds from call to call; ``None``: as recorded, or all at once.
            rules: rules by name; ``None``: the built-in ones.

        Raises:
            UsageError: there are no such rules, or the pace is no number of 0 or more.
        """
        rule = self._rule(provider, rules)
        return Cost(simulate(self.sent, rule=rule, counter=self.counter, pace=pace))

    def cuts(
        self, provider: str = "", *, rules: Mapping[str, Rule] | None = None
    ) -> Mapping[int, BreakEven]:
        """Say of each call whose prefix breaks when the cut there pays, if ever.

        Raises:
            UsageError: there are no such rules.
        """
        rule = self._rule(provider, rules)
        changed = changes(self.sent, counter=self.counter, order=rule.order)
        return cuts(changed, uncut=[step.history_tokens for step in self.steps], rule=rule)

    def _rule(self, provider: str, rules: Mapping[str, Rule] | None) -> Rule:
        told = self.traffic.provider if self.traffic else ""
        return find_rule(load_rules() if rules is None else rules, provider or told)

    def carried(self, fact: str) -> Carried:
        """Say in which requests a fact's value stands, and where it comes from.

        Raises:
            UsageError: the transcript has no such fact.
        """
        planted = self.transcript.fact(fact)
        calls = [(step.call.history, step.request) for step in self.steps]
        return carried(planted, self.transcript, probes=self._asked(planted), calls=calls)

    def fate(self, fact: str) -> Fate:
        """Say what became of a fact when summaries took the place of its message.

        Raises:
            UsageError: the transcript has no such fact.
        """
        planted = self.transcript.fact(fact)
        asked_at = probe_point(self.transcript, planted)
        return fate(
            planted,
            self.transcript.messages[planted.planted_at],
            calls=[
                (step.call.index, step.request)
                for step in self.steps
                if planted.planted_at < step.call.history <= asked_at
            ],
            probes=self._asked(planted),
        )

    def _asked(self, fact: Fact) -> tuple[Request, ...]:
        return () if self.traffic else self.probes[fact.name]


def probe_point(transcript: Transcript, fact: Fact) -> int:
    """Return how many messages stand before a fact's probe."""
    return len(transcript.messages) if fact.asked_at is None else fact.asked_at


def digest(value: Any) -> str:
    """Return a short hash of a JSON value, for fingerprints; key order counts, as in tokens."""
    text = json.dumps(value, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
