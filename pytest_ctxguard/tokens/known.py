"""Count requests that are made of much the same messages, each message once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress, count, repeat
from operator import ne

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.tokens.buckets import Counter, Tools
from pytest_ctxguard.tokens.growing import UnitCounter, Units
from pytest_ctxguard.tokens.seen import see
from pytest_ctxguard.transcript.messages import Message, is_instruction, tool_calls

RESULTS = re.compile(b"\x01{2,}")  # of a request's flags: results that follow each other


class KnownMessages:
    """Counts requests; a message it was told of is encoded once, and then known by identity.

    A policy may change the very dict it was handed, so that a message counts as known only while
    it is equal to its value. This compares, and looks up, in C what else is read in Python: a
    policy that counts whole requests does so a dozen times a call. A counter that does not work
    in units counts each request whole.

    Args:
        counter: what counts.
        tools: the tool definitions of every request.
    """

    def __init__(self, counter: Counter, *, tools: Tools) -> None:
        self._counter, self._tools = counter, tools
        self._units = counter.units(tools=tools) if isinstance(counter, UnitCounter) else None
        self._places: dict[int, int] = {}  # by the id of an object; place 0 is for all others
        self._objects: list[object] = [None]  # held, so that no other gets such an id
        self._values: list[object] = [object()]  # equal to no message
        self._sizes: list[int | None] = [None]  # tokens, once it was counted as a unit
        self._results = [0]  # 1: it is a tool result
        self._texts: dict[tuple[str, str], int] = {}  # tokens by role and content
        self._runs: dict[tuple[int, ...], int] = {}  # tokens of results that follow each other

    def add(self, message: Message, value: Message) -> None:
        """Know an object; ``value`` is equal to it, and never changes."""
        if self._units is None or not _reads_as_it_equals(value):
            return
        self._places[id(message)] = len(self._objects)
        self._objects.append(message)
        self._values.append(value)
        self._sizes.append(None)
        self._results.append(_is_result(value))

    def replace(self, message: Message, other: Message) -> None:
        """Know another object in place of one, with the same value."""
        place = self._places.pop(id(message), 0)
        if place:
            self._places[id(other)] = place
            self._objects[place] = other

    def count(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a request: tools, template and messages.

        Raises:
            PolicyError: a message has a role that no chat template renders.
        """
        if self._units is None:
            return self._counter.count(messages, tools=self._tools)
        messages = list(messages)
        try:
            return self._count(self._units, messages)
        except PolicyError:
            for index, message in enumerate(messages):
                see(message, index)  # the first that cannot be rendered is the one to name
            raise

    def _count(self, units: Units, messages: list[Message]) -> int:
        places = list(map(self._places.get, map(id, messages), repeat(0)))
        results = bytearray(list(map(self._results.__getitem__, places)))
        values = map(self._values.__getitem__, places)
        for index in list(compress(count(), map(ne, messages, values))):
            places[index] = 0
            results[index] = _is_result(messages[index])
        sizes = list(map(self._sizes.__getitem__, places))
        for run in RESULTS.finditer(results):
            indices = range(*run.span())
            sizes[indices.start : indices.stop] = [0] * len(indices)
            sizes[indices.start] = self._run(units, messages, places, indices=indices)
        system = None
        if messages and is_instruction(messages[0]):
            system, sizes[0] = see(messages[0], 0).text, 0
        if None in sizes:
            for index, size in enumerate(sizes):
                if size is None:
                    sizes[index] = size = self._alone(units, messages[index], index)
                    if places[index]:
                        self._sizes[places[index]] = size
        return units.head(system) + sum(filter(None, sizes)) + units.tail

    def _alone(self, units: Units, message: Message, index: int) -> int:
        """Return the tokens of a message that is a unit."""
        role, content = message.get("role"), message.get("content")
        if not type(role) is type(content) is str or message.get("tool_calls"):
            return units.unit((see(message, index),))
        known = self._texts.get((role, content))  # most are such, and policies make them anew
        if known is None:
            known = self._texts[role, content] = units.unit((see(message, index),))
        return known

    def _run(
        self, units: Units, messages: list[Message], places: list[int], *, indices: range
    ) -> int:
        """Return the tokens of results that follow each other."""
        key = tuple(places[indices.start : indices.stop])
        known = self._runs.get(key)
        if known is None:
            known = units.unit(tuple(see(messages[index], index) for index in indices))
            if 0 not in key:
                self._runs[key] = known
        return known


def _is_result(message: Message) -> int:
    return int(message.get("role") == "tool")


def _reads_as_it_equals(value: Message) -> bool:
    """Tell whether whatever is equal to a message is read like it: 1 and True are not."""
    try:
        see(value, 0)
    except PolicyError:
        return False
    functions = [call.get("function") or {} for call in tool_calls(value)]
    return all(isinstance(f.get(key), str) for f in functions for key in ("name", "arguments"))
