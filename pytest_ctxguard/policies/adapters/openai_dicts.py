"""Policies that take OpenAI-format dicts as they are, and what they may return for a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.framework import then, unknown
from pytest_ctxguard.policies.adapters.originals import Originals
from pytest_ctxguard.policies.protocol import bind
from pytest_ctxguard.transcript.messages import Message


@dataclass(frozen=True, slots=True)
class DictPolicy:
    """A policy on dicts, given as they are; what it returns is read and checked.

    Attributes:
        func: takes the messages, and ``budget``, ``count`` or ``tools`` if it names them. It may
            return a list, a pair that starts with one, or an object with ``messages``.
        adapter: the adapter's name in ``pytest_ctxguard.adapt``.
    """

    func: Callable[..., Any]
    adapter: str

    def __call__(
        self,
        messages: list[dict[str, Any]],
        *,
        budget: int | None = None,
        count: Callable[[Sequence[Message]], int] | None = None,
        tools: Sequence[Any] | None = None,
    ) -> list[Message] | Awaitable[list[Message]]:
        """Return the messages to send."""
        table: Originals[Any] = Originals(self._back)
        history = list(messages)  # the policy is handed the list itself, and may change it
        for place, message in enumerate(history):
            table.enter(message, place)
        policy = bind(self.func, {"budget": budget, "count": count, "tools": tools})
        return then(
            policy(messages), lambda returned: table.restore(self._messages(returned), history)
        )

    def _messages(self, returned: Any) -> Sequence[Any]:
        found = getattr(returned, "messages", returned)
        if isinstance(found, tuple) and found and isinstance(found[0], list):
            found = found[0]
        if not isinstance(found, Sequence) or isinstance(found, str | bytes):
            raise PolicyError(
                f"adapt.{self.adapter}: the policy returned {type(returned).__name__}, neither a "
                "list of messages nor an object with one. Remedy: return the messages to send"
            )
        return found

    def _back(self, message: Any) -> list[Message]:
        dump = getattr(message, "model_dump", None)  # the clients' message classes
        made = dump(exclude_none=True) if dump else message
        if not isinstance(made, Mapping):
            raise unknown(message, adapter=self.adapter)
        return [dict(made)]
