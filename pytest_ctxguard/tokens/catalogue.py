"""The tool catalogue: what each definition takes, what was called, what a shorter one would save.

Definitions are counted as differences of requests, as a template renders them: with and without
all of them, and each beside another one, so that what frames them all is told from what one adds.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.exactness import exactness
from pytest_ctxguard.tokens.trimming import (
    Tool,
    one_sentence,
    tool_name,
    without_parameter_prose,
)
from pytest_ctxguard.transcript.messages import Message, is_instruction, tool_calls
from pytest_ctxguard.transcript.model import Transcript

ANOTHER: Tool = {
    "type": "function",
    "function": {"name": "another", "description": "", "parameters": {"type": "object"}},
}
ALIKE = 0.5  # ratio of difflib; less has no name in common with anything


@dataclass(frozen=True, slots=True)
class ToolCost:
    """One definition.

    Attributes:
        name: the tool's.
        tokens: what a request has more with it.
        prose: of these, descriptions of its parameters.
        calls: how often the tool was called.
    """

    name: str
    tokens: int
    prose: int
    calls: int


@dataclass(frozen=True, slots=True)
class UnknownTool:
    """A tool that was called and is not in the catalogue.

    Attributes:
        name: as it was called.
        calls: how often.
        nearest: the existing name most like it; ``None``: none is.
    """

    name: str
    calls: int
    nearest: str | None

    def __str__(self) -> str:
        times = "once" if self.calls == 1 else f"{self.calls:,} times"
        nearest = "" if self.nearest is None else f" (the nearest is {self.nearest!r})"
        return f"{self.name!r} {times}{nearest}"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What a request would have in definitions, scaffolding included.

    Attributes:
        short: descriptions of one sentence, and none of parameters.
        called: without the tools never called.
        both: both.
    """

    short: int
    called: int
    both: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The tools of a session.

    Attributes:
        counter: name of what counted.
        exact: whether it renders definitions as the model's server does, as it says itself.
        requests: how many calls the session made; each was sent all definitions.
        system: tokens of the system message, or the template's own, without any tool.
        definitions: tokens that all definitions add to it.
        tools: one each, in order.
        unknown: tools called that do not exist, most often called first.
        trimmed: the definitions of shorter catalogues.
    """

    counter: str
    exact: bool
    requests: int
    system: int
    definitions: int
    tools: tuple[ToolCost, ...]
    unknown: tuple[UnknownTool, ...]
    trimmed: Trimmed

    @property
    def scaffolding(self) -> int:
        """Tokens that frame the definitions, however many there are."""
        return self.definitions - sum(tool.tokens for tool in self.tools)

    @property
    def never_called(self) -> tuple[ToolCost, ...]:
        """The tools that were never called, dearest first."""
        idle = (tool for tool in self.tools if not tool.calls)
        return tuple(sorted(idle, key=lambda tool: -tool.tokens))

    @property
    def idle_tokens(self) -> int:
        """Tokens of a request that define tools which were never called."""
        return sum(tool.tokens for tool in self.never_called)

    @property
    def unknown_calls(self) -> int:
        """How often a tool was called that does not exist."""
        return sum(tool.calls for tool in self.unknown)

    def over_run(self, tokens: int) -> int:
        """Return what tokens of each request come to over the session."""
        return tokens * self.requests


def audit(transcript: Transcript, *, counter: Counter) -> Catalogue:
    """Count the tool definitions of a session, and compare them with its calls.

    Raises:
        UsageError: the transcript has no tool definitions, or makes no calls.
    """
    tools = transcript.tools
    if not tools or not transcript.calls:
        raise UsageError(
            f"transcript {transcript.name!r} has no {'calls' if tools else 'tool definitions'}, so "
            "there is no catalogue to audit. Not every recorder keeps definitions; request bodies, "
            "cassettes and the project's own format do (docs/transcripts.md)."
        )
    lead = _lead(transcript)

    def count(*definitions: Tool) -> int:
        return counter.count(lead, tools=definitions, generation_prompt=False)

    called = _called(transcript.messages)
    system, beside = count(), count(ANOTHER)
    bare = [without_parameter_prose(tool) for tool in tools]
    used = [tool_name(tool) in called for tool in tools]
    short = [one_sentence(tool) for tool in bare]
    sizes = [count(ANOTHER, tool) for tool in tools]
    return Catalogue(
        counter=counter.name,
        exact=exactness(counter).exact,
        requests=len(transcript.calls),
        system=system,
        definitions=count(*tools) - system,
        tools=tuple(
            ToolCost(
                name=tool_name(tool),
                tokens=size - beside,
                prose=size - count(ANOTHER, terse),
                calls=called[tool_name(tool)],
            )
            for tool, terse, size in zip(tools, bare, sizes, strict=True)
        ),
        unknown=_unknown(called, known=[tool_name(tool) for tool in tools]),
        trimmed=Trimmed(
            short=count(*short) - system,
            called=count(*_chosen(tools, used)) - system,
            both=count(*_chosen(short, used)) - system,
        ),
    )


def definitions_sent(
    transcript: Transcript, offered: Sequence[Sequence[Tool]], *, counter: Counter
) -> int:
    """Return the tokens of the definitions that a session's requests have, all together.

    Args:
        transcript: whose system message stands before them.
        offered: the tools of each request, in order; they need not be those of the transcript.
        counter: exact counter of requests.
    """
    lead = _lead(transcript)
    without = counter.count(lead, generation_prompt=False)
    return sum(
        (counter.count(lead, tools=tools, generation_prompt=False) - without) * len(list(alike))
        for tools, alike in groupby(offered)
    )


def _lead(transcript: Transcript) -> list[Message]:
    return [message for message in transcript.messages[:1] if is_instruction(message)]


def _called(messages: Sequence[Message]) -> Multiset[str]:
    calls = (call for message in messages for call in tool_calls(message))
    return Multiset(str((call.get("function") or {}).get("name") or "") for call in calls)


def _chosen(tools: Sequence[Tool], used: Sequence[bool]) -> list[Tool]:
    return [tool for tool, kept in zip(tools, used, strict=True) if kept]


def _unknown(called: Multiset[str], *, known: Sequence[str]) -> tuple[UnknownTool, ...]:
    """Return the tools called that are not known, each with the nearest that is."""
    names = sorted(set(known))
    found = (
        UnknownTool(name, calls, next(iter(get_close_matches(name, names, 1, ALIKE)), None))
        for name, calls in called.items()
        if name not in names
    )
    return tuple(sorted(found, key=lambda tool: (-tool.calls, tool.name)))
