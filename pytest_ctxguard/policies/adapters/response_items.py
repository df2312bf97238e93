"""Messages as items of OpenAI's Responses API, and back.

An assistant message is several items there: its reasoning, its text, each of its calls. A policy
may keep some of them and drop others, so what comes back is matched item by item.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.fields import image_url, part_text, parts_of
from pytest_ctxguard.policies.adapters.framework import unknown
from pytest_ctxguard.policies.adapters.originals import with_changes
from pytest_ctxguard.transcript.messages import Message, copy_json, tool_calls
from pytest_ctxguard.transcript.parts import Part
from pytest_ctxguard.transcript.wire import openai_items

Item = dict[str, Any]
Place = tuple[int, int]  # index of the message, position of the item in it


class Items:
    """The items of some messages of a history."""

    def __init__(self, history: Sequence[Message], places: Sequence[int]) -> None:
        self.history = history
        custom = _custom_calls(history)
        self.of = {place: _items(history[place], custom) for place in places}
        self._given: dict[Place, Item] = {}  # copies, for a policy may edit what it is given
        self._by_identity: dict[int, Place] = {}
        self._by_value: dict[str, list[Place]] = {}
        for index, items in self.of.items():
            for position, item in enumerate(items):
                given = self._given[index, position] = copy_json(item)
                self._by_identity[id(given)] = (index, position)

    def between(self, start: int, stop: int) -> list[Item]:
        """Return the items of the messages from ``start`` up to ``stop``."""
        return [item for (index, _), item in self._given.items() if start <= index < stop]

    def restore(self, returned: Sequence[Any], *, adapter: str) -> list[Message]:
        """Return messages: those of the history where all their items are there, unchanged.

        Raises:
            PolicyError: something returned is no item.
        """
        for item in returned:
            if not isinstance(item, Mapping):
                raise unknown(item, adapter=adapter)
        try:
            return list(self._restored(returned))
        except ValueError as error:
            raise PolicyError(
                f"adapt.{adapter}: its policy returned an item that cannot be sent: {error}"
            ) from error

    def _restored(self, returned: Sequence[Item]) -> Iterator[Message]:
        places = self._places(returned)
        position, odd = 0, list[Item]()
        while position < len(returned):
            place = places[position]
            whole = len(self.of[place[0]]) if place is not None else 0
            if place is None or places[position : position + whole] != [
                (place[0], each) for each in range(whole)
            ]:
                odd.append(returned[position])
                position += 1
                continue
            yield from self._converted(odd)
            odd = []
            yield self.history[place[0]]
            position += whole
        yield from self._converted(odd)

    def _places(self, returned: Sequence[Item]) -> list[Place | None]:
        """Find each item, the last first: what policies keep of repeats is the latest."""
        found: list[Place | None] = []
        before: Place = (len(self.history), 0)
        for item in reversed(returned):
            place = self._by_identity.get(id(item))
            if place is None or self.of[place[0]][place[1]] != item:
                place = self._nearest(item, before)
            found.append(place)
            before = before if place is None else place
        return found[::-1]

    def _nearest(self, item: Item, before: Place) -> Place | None:
        """Find an item that was copied: the last that reads the same, before a place."""
        if not self._by_value:
            for index, items in self.of.items():
                for position, each in enumerate(items):
                    self._by_value.setdefault(_text(each), []).append((index, position))
        known = self._by_value.get(_text(item), [])
        return next((place for place in reversed(known) if place < before), None)

    def _converted(self, items: Sequence[Item]) -> Iterator[Message]:
        if not items:
            return
        results = {
            message.get("tool_call_id"): (message, self.of[index])
            for index, message in enumerate(self.history)
            if message.get("role") == "tool" and index in self.of
        }
        for now in openai_items.messages([dict(item) for item in items], "input"):
            if now.get("role") == "tool" and now.get("tool_call_id") in results:
                original, was = results[now.get("tool_call_id")]
                yield with_changes(original, openai_items.messages(was, "input")[0], now)
            else:
                yield now


def _text(item: Item) -> str:
    return json.dumps(item, sort_keys=True, default=repr)


def _custom_calls(messages: Sequence[Message]) -> set[Any]:
    return {
        call.get("id")
        for message in messages
        for call in tool_calls(message)
        if call.get("type") == "custom"
    }


def _items(message: Message, custom: set[Any]) -> list[Item]:
    """Return the items of a message, at least one; a call of a rare kind is a function's here."""
    if message.get("role") == "tool":
        kind = "custom_tool_call_output" if message.get("tool_call_id") in custom else None
        output = _content(message, "input_text")
        return [
            {
                "type": kind or "function_call_output",
                "call_id": str(message.get("tool_call_id")),
                "output": "" if output is None else output,
            }
        ]
    if message.get("role") != "assistant":
        content = _content(message, "input_text")
        return [{"role": message.get("role"), "content": "" if content is None else content}]
    reasoning = message.get("reasoning_items")
    items: list[Item] = list(reasoning) if isinstance(reasoning, list) else []
    calls = [_call(call) for call in tool_calls(message)]
    content = _content(message, "output_text")
    if content or not (items or calls):
        items.append({"role": "assistant", "content": content or ""})
    return items + calls


def _call(call: Mapping[str, Any]) -> Item:
    function = call.get("function") or {}
    text = function.get("arguments") or ""
    kind, key = "function_call", "arguments"
    if call.get("type") == "custom":
        kind, key = "custom_tool_call", "input"
    return {
        "type": kind,
        "call_id": str(call.get("id")),
        "name": str(function.get("name")),
        key: text,
    }


def _content(message: Message, kind: str) -> str | list[Item] | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content
    return [_part(part, kind) for part in parts_of(message)]


def _part(part: Part, kind: str) -> Item:
    url = image_url(part)
    if url is not None:
        detail = part["image_url"].get("detail") if isinstance(part["image_url"], dict) else None
        return {"type": "input_image", "image_url": url, **({"detail": detail} if detail else {})}
    if part.get("type") == "file" and isinstance(part.get("file"), Mapping):
        return {"type": "input_file", **part["file"]}
    if part.get("type") == "input_audio":
        return dict(part)
    return {"type": kind, "text": part_text(part)}
