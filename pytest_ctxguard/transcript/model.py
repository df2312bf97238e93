"""The transcript: the ordered record of one session, and what was planted in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.messages import Message, instructions, tool_rounds, turn_starts

FACT_KINDS = ("identifier", "rule")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A value planted in a transcript, and how it is asked for.

    Attributes:
        name: unique in its transcript.
        value: the planted text.
        kind: ``identifier`` (a name or number) or ``rule`` (a standing instruction).
        planted_at: index of the message that states it.
        asked_at: index of the user message a probe replaces; ``None`` appends the probe.
        wordings: the questions; together they are the panel a claim counts over.
        accepts: answers that count as a hit; the value alone when empty.
        look_alikes: other values in the transcript that a confused answer may give.
        shape: a regular expression that any candidate value matches, right or wrong.
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

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every answer that counts as a hit."""
        return self.accepts or (self.value,)

    def mentions(self, text: str) -> bool:
        """Tell whether the value, or another accepted form of it, stands in a text."""
        return any(contains(text, value) for value in (self.value, *self.accepts))


def contains(text: str, value: str) -> bool:
    """Tell whether a value stands in a text as a word of its own, in any case.

    ``4417`` is neither in ``44170`` nor in ``pay-4417-x``. The word boundary is ASCII, so
    that a number is found inside Chinese or Japanese, which write no spaces.
    """
    pattern = rf"(?<![A-Za-z0-9_-]){re.escape(value)}(?![A-Za-z0-9_-])" if value else r"(?!)"
    return re.search(pattern, text, re.IGNORECASE) is not None


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
