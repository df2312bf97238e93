"""Requests as sequences of tokens in a provider's order, so that prefixes can be compared.

With a counter that encodes, tokens are the ids of the rendered prompt; one that only counts gives
the sizes of messages, and a message is shared whole or not at all.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from pytest_ctxguard.prefix.sent import MARK, SECTIONS, Section, Sent, as_json, bare
from pytest_ctxguard.tokens.buckets import Counter, Tools
from pytest_ctxguard.transcript.messages import Message, instructions, is_instruction

Level = Literal["tokens", "messages"]
MADE_UP = 1 << 24  # ids from here on stand for tokens that are not known; no vocabulary has them
BARE: Message = {"role": "user", "content": ""}  # what others are counted beside
RENDERED = ("role", "content", "tool_calls", "tool_call_id", MARK)
Value = TypeVar("Value")


@runtime_checkable
class Encoder(Counter, Protocol):
    """A counter that tells the tokens themselves."""

    def encode(
        self, messages: Sequence[Message], *, tools: Tools = (), generation_prompt: bool = True
    ) -> list[int]:
        """Return the token ids of a request."""
        ...


class Prompter:
    """Makes token sequences of requests that are compared with each other.

    Args:
        counter: exact counter of requests.
        order: the provider's order of sections.
    """

    def __init__(self, counter: Counter, *, order: Sequence[Section] = SECTIONS) -> None:
        self._counter, self._order = counter, tuple(order)
        self._made_up = MadeUp()
        self._own = Remembered(self._measured)
        self._units = Remembered(self._encoded_unit)
        self._heads = Remembered(self._encoded_heads)
        self._tool_sizes = Remembered(self._measured_tools)
        self._latest: list[tuple[Sent, array[int]]] = []

    @property
    def level(self) -> Level:
        """What prompts are compared by."""
        return "tokens" if isinstance(self._counter, Encoder) else "messages"

    def ids(self, sent: Sent) -> array[int]:
        """Return the tokens of a request; equal ids stand for equal tokens."""
        for known, ids in self._latest:  # each is compared with the one before
            if known is sent:
                return ids
        ids = self._ids(sent.messages, sent.tools, total=sent.tokens)
        self._latest = [*self._latest[-1:], (sent, ids)]
        return ids

    def with_answer(self, sent: Sent) -> array[int]:
        """Return the tokens of a request and of its answer; without one, the request's."""
        if sent.answer is None:
            return self.ids(sent)
        return self._ids((*sent.messages, sent.answer), sent.tools, generation_prompt=False)

    def sizes(self, sent: Sent) -> tuple[int, ...]:
        """Return the tokens of each part, in the provider's order.

        They add up to the request's, but for the prompt to answer.
        """
        lead = instructions(sent.messages)
        own = [self._own(message) for message in sent.messages]
        tools = self._tool_sizes(*sent.tools)
        total = self._counter.count(sent.messages, tools=sent.tools, generation_prompt=False)
        by_section = {"tools": tools, "system": own[:lead], "messages": own[lead:]}
        sizes = [size for section in self._order for size in by_section[section]]
        if not sizes:
            return ()
        parts = sum(sizes)
        sizes[0] += max(0, total - parts)  # the template's own text stands before them
        surplus = max(0, parts - total)
        for index in reversed(range(len(sizes))):  # a run of tool results is framed once
            taken = min(surplus, sizes[index])
            sizes[index] -= taken
            surplus -= taken
        return tuple(sizes)

    def _ids(
        self,
        messages: Sequence[Message],
        tools: Tools,
        *,
        total: int = 0,
        generation_prompt: bool = True,
    ) -> array[int]:
        counter = self._counter
        if isinstance(counter, Encoder) and self._order[0] != "tools":  # as its template has it
            ids = counter.encode(messages, tools=tools, generation_prompt=generation_prompt)
            return array("q", ids)
        total = total or counter.count(messages, tools=tools, generation_prompt=generation_prompt)
        if not isinstance(counter, Encoder):
            return self._counted(messages, tools, total=total)
        joined = self._joined(counter, messages, tools, generation_prompt=generation_prompt)
        if len(joined) == total:
            return joined
        # a template that we cannot take apart
        ids = counter.encode(messages, tools=tools, generation_prompt=generation_prompt)
        return array("q", ids)

    def _joined(
        self,
        encoder: Encoder,
        messages: Sequence[Message],
        tools: Tools,
        *,
        generation_prompt: bool,
    ) -> array[int]:
        """Return a prompt's ids with the tools first, where its template writes them later."""
        first = messages[: min(1, instructions(messages))]
        with_tools, without = self._heads(*first, *tools)
        ids = self._tool_ids(tools, total=len(with_tools) - len(without))
        ids += self._marked(without, first)
        for unit in _units(messages[len(first) :]):
            ids += self._units(*unit)
        return ids + self._generation if generation_prompt else ids

    @cached_property
    def _generation(self) -> array[int]:
        """The ids that ask for an answer, with which the answer's message begins."""
        encoder: Any = self._counter
        asked, begun = (encoder.encode([BARE], generation_prompt=g) for g in (False, True))
        return array("q", begun[len(asked) :])

    def _encoded_heads(self, *values: Any) -> tuple[array[int], array[int]]:
        """Return what stands before the messages, with tools and without them."""
        encoder: Any = self._counter
        first = [value for value in values if "role" in value]
        tools = [value for value in values if "role" not in value]
        after = len(self._units(BARE))
        one = encoder.encode([*first, BARE], tools=tools, generation_prompt=False)
        other = encoder.encode([*first, BARE], generation_prompt=False)
        return array("q", one[: len(one) - after]), array("q", other[: len(other) - after])

    def _encoded_unit(self, *unit: Message) -> array[int]:
        """Return the ids of a message, or of a run of tool results."""
        encoder: Any = self._counter
        beside = len(encoder.encode([BARE], generation_prompt=False))
        ids = encoder.encode([BARE, *unit], generation_prompt=False)
        return self._marked(array("q", ids[beside:]), unit)

    def _marked(self, ids: array[int], unit: Sequence[Message]) -> array[int]:
        """Return the ids of a unit; another behind its role if not all its bytes are in them.

        The provider may read what this template leaves out, so that they must differ as it does.
        """
        unseen, role = [_unseen(message) for message in unit], len(self._generation)
        if not any(unseen) or len(ids) <= role:
            return ids
        return ids[:role] + self._made_up(as_json(unseen), 1) + ids[role + 1 :]

    def _counted(self, messages: Sequence[Message], tools: Tools, *, total: int) -> array[int]:
        lead = instructions(messages)
        ids = {
            "tools": self._tool_ids(tools, total=sum(self._tool_sizes(*tools))),
            "system": self._message_ids(messages[:lead]),
            "messages": self._message_ids(messages[lead:]),
        }
        joined: array[int] = array("q")
        for section in self._order:
            joined += ids[section]
        return joined[:total] + self._made_up("frame", max(0, total - len(joined)))

    def _message_ids(self, messages: Sequence[Message]) -> array[int]:
        joined: array[int] = array("q")
        for message in messages:
            joined += self._made_up(as_json(bare(message)), self._own(message))
        return joined

    def _tool_ids(self, tools: Tools, *, total: int) -> array[int]:
        joined: array[int] = array("q")
        for tool, size in zip(tools, self._tool_sizes(*tools), strict=True):
            joined += self._made_up(as_json(bare(tool)), size)
        return joined[:total] + self._made_up("tools' frame", max(0, total - len(joined)))

    def _measured_tools(self, *tools: Any) -> tuple[int, ...]:
        """Return what each tool adds; the first one the frame around them, too."""
        count = self._counter.count
        sums = [count([BARE], tools=tools[:n]) for n in range(len(tools) + 1)]
        return tuple(max(0, b - a) for a, b in pairwise(sums))

    def _measured(self, message: Message) -> int:
        """Return what a message adds to a request."""
        with_it = [message, BARE] if is_instruction(message) else [BARE, message]
        one, other = (
            self._counter.count(messages, generation_prompt=False) for messages in (with_it, [BARE])
        )
        return max(0, one - other)


class Remembered(Generic[Value]):
    """A function of JSON values that is computed once for each: for each object, and each text."""

    def __init__(self, make: Callable[..., Value]) -> None:
        self._make = make
        self._by_object: dict[tuple[int, ...], tuple[tuple[Any, ...], Value]] = {}
        self._by_text: dict[str, Value] = {}

    def __call__(self, *values: Any) -> Value:
        """Return the function's value; the objects must not change."""
        key = tuple(map(id, values))
        if key not in self._by_object:  # objects are held, so that no other gets their ids
            text = as_json(values)
            if text not in self._by_text:
                self._by_text[text] = self._make(*values)
            self._by_object[key] = (values, self._by_text[text])
        return self._by_object[key][1]


class MadeUp:
    """Ids for texts whose tokens are not known: the same for the same text."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], array[int]] = {}
        self._next = MADE_UP

    def __call__(self, text: str, size: int) -> array[int]:
        """Return so many ids for a text."""
        key = (text, size)
        if key not in self._known:
            self._known[key] = array("q", range(self._next, self._next + size))
            self._next += size
        return self._known[key]


def _units(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    """Yield each message, and each run of tool results, which templates frame as one."""
    for is_tool, run in groupby(messages, key=lambda message: message.get("role") == "tool"):
        if is_tool:
            yield tuple(run)
        else:
            yield from ((message,) for message in run)


def _unseen(message: Message) -> Any:
    """Return what chat templates do not render of a message as it was sent; most often nothing."""
    content = message.get("content", "")
    shape = [_shape(part) for part in content] if isinstance(content, list) else content is None
    others = {key: message[key] for key in sorted(message) if key not in RENDERED}
    unseen = [shape, others, message.get("tool_calls")]
    return unseen if any(unseen) else None


def _shape(part: Any) -> Any:
    is_text = isinstance(part, dict) and part.get("type") == "text"
    return "text" if is_text or isinstance(part, str) else bare(part)
