"""Where the tokens of a request go: four counts and three subtractions.

No provider returns this breakdown; counting the whole request, the system message with and
without tools, and the request without its tool results recovers it. Role markers and the
template's own text fall to the bucket they frame. What a policy put in is taken out first, and
counted so, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from operator import add
from types import MappingProxyType
from typing import Any, Literal, Protocol

from pytest_ctxguard.transcript.messages import Message, is_instruction

Tools = Sequence[Mapping[str, Any]]


class Counter(Protocol):
    """A counter of whole requests; its name says runtime, tokenizer and template.

    One that is not exact says so: ``exact = False``, and in ``why`` what it does not know
    (:mod:`pytest_ctxguard.tokens.exactness`).
    """

    @property
    def name(self) -> str:
        """Name of the counter, part of every fingerprint."""
        ...

    def count(
        self, messages: Sequence[Message], *, tools: Tools = (), generation_prompt: bool = True
    ) -> int:
        """Return the tokens of a request: tools, template and messages."""
        ...


PutInBucket = Literal["pinned", "summary"]
PUT_IN: tuple[PutInBucket, ...] = ("pinned", "summary")


@dataclass(frozen=True, slots=True)
class PutIn:
    """What a policy put into a request: a message of its own, or what it added to another.

    Attributes:
        bucket: where its tokens fall.
        instead: what would stand there without it; ``None``: nothing.
    """

    bucket: PutInBucket
    instead: Message | None = None


@dataclass(frozen=True, slots=True)
class Buckets:
    """Tokens of one request, or of several, by what they carry; they add up to the total.

    Attributes:
        system: the system message, or the template's own.
        tools: the tool definitions.
        tool_results: what tools returned.
        conversation: what user and assistant said, tool calls and the template's text included.
        pinned: copies that a policy put in.
        summary: other text that a policy put in.
    """

    system: int
    tools: int
    tool_results: int
    conversation: int
    pinned: int = 0
    summary: int = 0

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return sum(astuple(self))

    def __add__(self, other: Buckets) -> Buckets:
        return Buckets(*map(add, astuple(self), astuple(other)))


BUCKETS: tuple[str, ...] = tuple(field.name for field in fields(Buckets))
EMPTY = Buckets(0, 0, 0, 0)


def buckets(
    counter: Counter,
    messages: Sequence[Message],
    *,
    tools: Tools = (),
    put_in: Mapping[int, PutIn] = MappingProxyType({}),
) -> Buckets:
    """Count a request and split the total into its buckets.

    Args:
        counter: what counts.
        messages: the request's messages.
        tools: its tool definitions.
        put_in: message index -> what a policy put in there.
    """
    everything = counter.count(messages, tools=tools)
    no_summary = no_pinned = everything
    if put_in:
        unsummarised = {at: each for at, each in put_in.items() if each.bucket == "summary"}
        no_summary = counter.count(_without(messages, unsummarised), tools=tools)
        messages = _without(messages, put_in)
        no_pinned = counter.count(messages, tools=tools)
    system = [m for m in messages[:1] if is_instruction(m)]
    without_results = [m for m in messages if m.get("role") != "tool"]
    system_only = counter.count(system, generation_prompt=False)
    system_and_tools = counter.count(system, tools=tools, generation_prompt=False)
    no_results = counter.count(without_results, tools=tools)
    return Buckets(
        system=system_only,
        tools=system_and_tools - system_only,
        tool_results=no_pinned - no_results,
        conversation=no_results - system_and_tools,
        pinned=no_summary - no_pinned,
        summary=everything - no_summary,
    )


def _without(messages: Sequence[Message], put_in: Mapping[int, PutIn]) -> list[Message]:
    """Return a request's messages as they were before something was put in."""
    left = ((put_in[at].instead if at in put_in else m) for at, m in enumerate(messages))
    return [message for message in left if message is not None]
