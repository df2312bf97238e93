"""What a policy called while it made a request: its summariser, and the counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One call of the summariser.

    Attributes:
        shown: what it was shown; a text is one user message.
        tokens: exact size of that, the tools it was offered included.
        text: what it returned; ``None``: no text, or it raised.
        raised: type and text of what it raised, or empty.
        max_tokens: the answer's limit that the policy asked for, if any.
        tools: the tool definitions it was offered.
        written: tokens it generated; ``None``: it did not say.
        finish_reason: why it ended there, in a backend's words; empty: it did not say.
    """

    shown: tuple[Message, ...]
    tokens: int
    text: str | None
    raised: str = ""
    max_tokens: int | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    written: int | None = None
    finish_reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no summary: it raised, or gave no text but blanks."""
        return not (self.text or "").strip()

    @property
    def fault(self) -> str:
        """What kept it from giving a summary: an error's type, or ``no text``; empty: nothing."""
        return self.raised.partition(":")[0] or ("no text" if self.failed else "")


@dataclass(frozen=True, slots=True)
class SummaryUse:
    """What a summariser was asked, and what that takes.

    Attributes:
        calls: how often it was asked.
        input: tokens it was shown; of a call that raised, none.
        output: tokens it generated; ``None``: not every call said.
        at_length: how many calls ended at their limit, and so in the middle of something.
        failed: what kept it from giving a summary -> how often.
    """

    calls: int = 0
    input: int = 0
    output: int | None = 0
    at_length: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)


def summary_use(summaries: Iterable[Summary]) -> SummaryUse:
    """Add up calls of a summariser."""
    summaries = tuple(summaries)
    read = [summary for summary in summaries if not summary.raised]
    written = [summary.written for summary in read]
    return SummaryUse(
        calls=len(summaries),
        input=sum(summary.tokens for summary in read),
        output=None if None in written else sum(n for n in written if n is not None),
        at_length=sum(summary.finish_reason == "length" for summary in read),
        failed=dict(Counter(summary.fault for summary in summaries if summary.fault)),
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted with the ``count`` that the policy was offered.

    Attributes:
        times: how often.
        roles: the roles of the messages counted.
        tool_calls: whether one of them had tool calls.
    """

    times: int = 0
    roles: frozenset[str] = frozenset()
    tool_calls: bool = False

    def __or__(self, other: Counted) -> Counted:
        return Counted(
            self.times + other.times,
            self.roles | other.roles,
            self.tool_calls or other.tool_calls,
        )
