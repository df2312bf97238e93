"""Where a chat message stands in the request that a provider with turns and blocks gets.

Instructions at the start are sent apart. The tool messages of a round, and a user message right
after them, are one user turn, a block each; any other message is a turn of its own. In an
assistant turn thoughts come first, then text, then calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message, instructions


def turns(messages: Sequence[Message]) -> Iterator[tuple[str, list[int]]]:
    """Yield role and message indices of each turn; tool results have role user."""
    start = instructions(messages)
    indices: list[int] = []
    role = last = ""
    for index, message in enumerate(messages[start:], start):
        given = message.get("role")
        given = given if isinstance(given, str) else ""
        if last == "tool" and given in ("tool", "user"):
            indices.append(index)
        else:
            if indices:
                yield role, indices
            indices = [index]
            role = "user" if given == "tool" else given
        last = given
    if indices:
        yield role, indices


class Places:
    """The places of a request's messages; worked out when first asked for."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._turns: dict[int, tuple[int, int]] | None = None

    def fields(self, index: int | None, *, call: int | None, part: int | None) -> dict[str, object]:
        """Return what a refusal can say of a place.

        Returns:
            ``index`` of the chat message; ``turn``, the ``next`` turn and ``block`` as the
            provider counts them; all from 0, nothing for no message.
        """
        if index is None:
            return {}
        if self._turns is None:
            self._turns = self._work_out()
        turn, block = self._turns.get(index, (0, 0))
        message = self._messages[index]
        if call is not None:
            block += _thoughts(message) + _texts(message) + call
        elif part is not None:
            block += _thoughts(message) + part
        return {"index": index, "turn": turn, "next": turn + 1, "block": block}

    def _work_out(self) -> dict[int, tuple[int, int]]:
        return {
            index: (number, block)
            for number, (_, indices) in enumerate(turns(self._messages))
            for block, index in enumerate(indices)
        }


def _thoughts(message: Mapping[str, Any]) -> int:
    thoughts = message.get("thinking_blocks")
    return len(thoughts) if isinstance(thoughts, list) else 0


def _texts(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    return len(content) if isinstance(content, list) else bool(content)
