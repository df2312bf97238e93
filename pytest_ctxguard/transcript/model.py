"""The transcript: the ordered record of one session, and what was planted in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.matching import CONTAINS, Match, contains, contains_pattern
from pytest_ctxguard.transcript.messages import Message, instructions, tool_rounds, turn_starts

Kind = Literal["identifier", "rule", "update", "forbidden", "multi-hop"]
FACT_KINDS: tuple[Kind, ...] = ("identifier", "rule", "update", "forbidden", "multi-hop")
Lifetime = Literal["turn", "session", "durable"]
LIFETIMES: tuple[Lifetime, ...] = ("turn", "session", "durable")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProbe:
    """A tool call that a fact is read from, as agents use facts.

    Attributes:
        name: the tool that must be called; one of the transcript's.
        argument: which of its arguments must have the fact's value.
        arguments: other arguments and the value each must have, whatever the fact's is.
    """

    name: str
    argument: str
    arguments: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A value planted in a transcript, and how it is asked for.

    Attributes:
        name: unique in its transcript.
        value: the planted text.
        kind: ``identifier`` (a name or number), ``rule`` (a standing instruction), ``update``
            (takes the place of older values), ``forbidden`` (a secret, or what was withdrawn:
            must be gone) or ``multi-hop`` (needs other facts as well).
        planted_at: index of the message that states it.
        asked_at: index of the user message a probe replaces; ``None`` appends the probe.
        wordings: the questions; together they are the panel a claim counts over.
        accepts: answers that count as a hit; the value alone when empty. Under ``match="regex"``
            regular expressions, at least one.
        look_alikes: other values in the transcript that a confused answer may give.
        shape: a regular expression that any candidate value matches, right or wrong.
        lifetime: how long it must be known: ``turn`` (gone in later turns), ``session``, or
            ``durable`` (beyond it; in the one session of a transcript the same).
        match: how values are found in a text; see :mod:`pytest_ctxguard.transcript.matching`.
        supersedes: the older values an ``update`` takes the place of; wrong answers now.
        links: names of the other facts that a ``multi-hop`` needs.
        tool: asked for as a call of this tool; ``None``: as text.
    """

    name: str
    value: str
    kind: str
    planted_at: int
    wordings: tuple[str, ...]
    shape: str
    asked_at: int | None = None
    accepts: tuple[str, ...] = ()
    look_alikes: tuple[str, ...] = ()
    lifetime: Lifetime = "session"
    match: Match = "word"
    supersedes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    tool: ToolProbe | None = None

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every answer that counts as a hit."""
        return self.accepts or (self.value,)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Every value that is known to be a wrong answer: look-alikes and superseded ones."""
        return (*self.look_alikes, *self.supersedes)

    @property
    def must_be_gone(self) -> bool:
        """Whether it must be gone by the time of its probe: forbidden, or of one turn only."""
        return self.kind == "forbidden" or self.lifetime == "turn"

    def finds(self, value: str, text: str) -> bool:
        """Tell whether any value stands in a text, by this fact's way of matching.

        Where that is by regular expression, a value is no pattern and stands there as a word.
        """
        return CONTAINS.get(self.match, contains)(text, value)

    def matches(self, text: str) -> bool:
        """Tell whether an accepted answer stands in a text."""
        if self.match == "regex":
            return any(contains_pattern(text, pattern) for pattern in self.accepts)
        return any(self.finds(answer, text) for answer in self.accepted)

    def mentions(self, text: str) -> bool:
        """Tell whether the value, or another accepted form of it, stands in a text."""
        return self.finds(self.value, text) or self.matches(text)


@dataclass(frozen=True, slots=True)
class Call:
    """One model invocation of the recorded session.

    Attributes:
        index: position among the calls, from 0.
        history: number of messages before it; ``messages[:history]`` is its uncut request.
        recorded: what the recorder knew (``tool_choice``, ``prompt_tokens``, …); provenance
            only, never replayed.
    """

    index: int
    history: int
    recorded: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A place where the recorded session went on with less than its history.

    Attributes:
        at: message index; calls from here on were sent ``inserted`` and the messages that were
            kept in place of all before ``at``. Leading instructions stay.
        kept_from: index of the first of the messages kept; ``at``: none was.
        inserted: what stands for the others, in OpenAI chat format: a summary, most often.
        recorded: what else the recorder knew (``trigger``, ``tokens_before``, ``time``, …).
    """

    at: int
    kept_from: int
    inserted: tuple[Message, ...] = ()
    recorded: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One recorded session.

    Attributes:
        name: how tests ask for it.
        messages: OpenAI-format chat messages, in order. Treat them as read-only.
        tools: OpenAI-format tool definitions, offered at every call.
        facts: what was planted.
        recorded: message index of an assistant message -> what the recorder knew of its call
            (the usual keys are in docs/transcripts.md).
        compactions: where the session itself went on with less, in order.
        provenance: how the transcript was made (model hash, seed, date, command, …).
    """

    name: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    facts: tuple[Fact, ...] = ()
    recorded: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    compactions: tuple[Compaction, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the session: one before each assistant message.

        A transcript that ends in a user or tool message has one more, still to be answered.
        """
        ends = [i for i, m in enumerate(self.messages) if m.get("role") == "assistant"]
        if self.messages and self.messages[-1].get("role") in ("user", "tool"):
            ends.append(len(self.messages))
        return tuple(
            Call(index, history, self.recorded.get(history, {}))
            for index, history in enumerate(ends)
            if history > 0
        )

    @property
    def turns(self) -> tuple[range, ...]:
        """Message ranges from each user message to the next."""
        starts = (*turn_starts(self.messages), len(self.messages))
        return tuple(range(a, b) for a, b in pairwise(starts))

    @property
    def tool_rounds(self) -> tuple[range, ...]:
        """Message ranges of the indivisible tool rounds."""
        return tool_rounds(self.messages)

    def sent(self, call: Call) -> tuple[Message, ...]:
        """Return the messages a call was sent when it was recorded, its compactions applied."""
        before = [c for c in self.compactions if c.at <= call.history]
        if not before:
            return self.messages[: call.history]
        last = before[-1]
        lead = instructions(self.messages)
        kept = max(last.kept_from, lead)
        return (*self.messages[:lead], *last.inserted, *self.messages[kept : call.history])

    def fact(self, name: str) -> Fact:
        """Return a planted fact by name.

        Raises:
            UsageError: there is none; the message lists those there are.
        """
        for fact in self.facts:
            if fact.name == name:
                return fact
        known = ", ".join(f.name for f in self.facts) or "none"
        raise UsageError(f"transcript {self.name!r} has no fact {name!r}; it has: {known}")

    def with_facts(self, *facts: Fact) -> Transcript:
        """Return the transcript with more facts declared."""
        return replace(self, facts=(*self.facts, *facts))
