"""A user's function as a counter of requests."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.tokens.growing import Sum
from pytest_ctxguard.transcript.messages import Message, content_text, tool_calls

REMEMBERED_TEXTS = 1 << 16


@dataclass(frozen=True, slots=True)
class FunctionCounter:
    """A function from messages to tokens, as a counter of requests.

    One that names ``tools`` in its signature is given the definitions; another counts none.
    """

    function: Callable[..., int]

    @property
    def name(self) -> str:
        """The function's name."""
        return _name(self.function)

    @property
    def exact(self) -> bool:
        """Whether it sees the whole request; that it counts it right is said by its owner."""
        return _takes_tools(self.function)

    @property
    def why(self) -> str:
        """What it does not know."""
        if self.exact:
            return "said by its owner"
        return "a function of messages is not given the tool definitions; it may name `tools`"

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return what the function says of the messages.

        Raises:
            UsageError: it says no number of tokens.
        """
        given = {"tools": list(tools)} if _takes_tools(self.function) else {}
        return _checked(self.function(list(messages), **given), self.name)


class TextCounter:
    """A function from text to tokens, as a counter of requests; each text is counted once.

    Attributes:
        name: the function's.
    """

    exact = False
    why = "a function of text knows no chat template: what frames messages and tools is not counted"

    def __init__(self, function: Callable[[str], int]) -> None:
        self.name = f"{_name(function)} (of texts, without a chat template)"
        self._function = function
        self.count_text = lru_cache(maxsize=REMEMBERED_TEXTS)(self._count_text)

    def count(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        generation_prompt: bool = True,
    ) -> int:
        """Return the tokens of the request's texts: contents, calls, and definitions as JSON.

        Raises:
            UsageError: the function says no number of tokens.
        """
        parts = self.sum_of(tools=tools)
        return parts.frame + sum(parts.message(message, {}) for message in messages)

    def sum_of(self, *, tools: Sequence[Mapping[str, Any]]) -> Sum:
        """Return what the tokens of requests with these tools are the sum of."""
        frame = self.count_text(definitions(tools)) if tools else 0
        return Sum(frame, lambda message, _: sum(map(self.count_text, texts(message))))

    def _count_text(self, text: str) -> int:
        return _checked(self._function(text), self.name)


def texts(message: Message) -> list[str]:
    """Return the texts of a message that a model reads: content, names of calls and arguments."""
    found = [content_text(message)]
    for call in tool_calls(message):
        function = call.get("function") or {}
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        found += [str(function.get("name") or ""), arguments]
    return [text for text in found if text]


def definitions(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return tool definitions as JSON, as most templates write them."""
    return json.dumps(list(tools), ensure_ascii=False)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "name", None) or getattr(function, "__qualname__", None)
    return str(name or type(function).__qualname__)


def _takes_tools(function: Callable[..., Any]) -> bool:
    try:
        return "tools" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a built-in has none to read
        return False


def _checked(value: Any, name: str) -> int:
    try:
        count = -1 if isinstance(value, bool) else index(value)  # NumPy's integers are some, too
    except TypeError:
        count = -1
    if count < 0:
        raise UsageError(
            f"counter {name} returned {value!r}, which is no number of tokens: give a whole number "
            "of 0 or more"
        )
    return count
