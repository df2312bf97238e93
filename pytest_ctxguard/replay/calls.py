"""What a policy called while it made a request: its summariser, and the counter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """

    shown: tuple[Message, ...]
    tokens: int
    text: str | None
    raised: str = ""
    max_tokens: int | None = None
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def failed(self) -> bool:
        """Whether there is no summary: it raised, or gave no text but blanks."""
        return not (self.text or "").strip()


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
