"""Where the tokens of a request go: four counts and three subtractions.

No provider returns this breakdown; counting the whole request, the system message with and
without tools, and the request without its tool results recovers it. Role markers and the
template's own text fall to the bucket they frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_ctxguard.transcript.messages import Message, is_instruction

Tools = Sequence[Mapping[str, Any]]


class Counter(Protocol):
    """An exact counter of whole requests; its name says runtime, tokenizer and template."""

    @property
    def name(self) -> str:
        """Name of the counter, part of every fingerprint."""
        ...

    def count(
        self, messages: Sequence[Message], *, tools: Tools = (), generation_prompt: bool = True
    ) -> int:
        """Return the tokens of a request: tools, template and messages."""
        ...


@dataclass(frozen=True, slots=True)
class Buckets:
    """Tokens of one request by what they carry; they add up to its total."""

    system: int
    tools: int
    tool_results: int
    conversation: int

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return self.system + self.tools + self.tool_results + self.conversation


def buckets(counter: Counter, messages: Sequence[Message], *, tools: Tools = ()) -> Buckets:
    """Count a request and split the total into its four buckets."""
    system = [m for m in messages[:1] if is_instruction(m)]
    without_results = [m for m in messages if m.get("role") != "tool"]
    everything = counter.count(messages, tools=tools)
    system_only = counter.count(system, generation_prompt=False)
    system_and_tools = counter.count(system, tools=tools, generation_prompt=False)
    no_results = counter.count(without_results, tools=tools)
    return Buckets(
        system=system_only,
        tools=system_and_tools - system_only,
        tool_results=everything - no_results,
        conversation=no_results - system_and_tools,
    )
