"""Which messages a framework's messages were made from, so that untouched ones come back exact."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pytest_ctxguard.transcript.messages import Message

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Entry(Generic[Made]):
    """One message of a framework, as an adapter made it.

    Attributes:
        made: the framework's message; kept, so that its identity stays its own.
        places: indices of the history's messages it was made from.
        base: what it converts back to while nobody has changed it.
    """

    made: Made
    places: tuple[int, ...]
    base: tuple[Message, ...]


@dataclass(slots=True)
class Originals(Generic[Made]):
    """A table from a framework's messages to those of the history they were made from.

    Attributes:
        back: converts one message of the framework to OpenAI's format, as far as it can.
        key: what stays the same in a message that was copied or edited: its identity, unless the
            framework has ids.
    """

    back: Callable[[Made], Sequence[Message]]
    key: Callable[[Made], Hashable] = id
    _by_key: dict[Hashable, Entry[Made]] = field(default_factory=dict)
    _entries: list[Entry[Made]] = field(default_factory=list)

    def enter(self, made: Made, *places: int) -> Made:
        """Remember that a message was made from those at ``places``; returns the message."""
        entry = Entry(made, places, tuple(self.back(made)))
        self._by_key[self.key(made)] = entry
        self._entries.append(entry)
        return made

    def restore(self, returned: Iterable[Made], history: Sequence[Message]) -> list[Message]:
        """Convert what a policy returned.

        A message nobody changed gives the very dicts of ``history``; a changed one those dicts
        with what changed in them; a new one what ``back`` makes of it.
        """
        return list(self._restored(returned, history))

    def _restored(self, returned: Iterable[Made], history: Sequence[Message]) -> Iterator[Message]:
        by_value: dict[str, list[Entry[Made]]] = {}
        last = -1
        for message in returned:
            now = self.back(message)
            entry = self._by_key.get(self.key(message))
            if entry is None and now:  # a copy, in a framework without ids
                by_value = by_value or self._by_value()
                entry = _after(by_value.get(_text(now), ()), last)
            if entry is None:
                yield from now
                continue
            last = max(entry.places, default=last)
            originals = [history[place] for place in entry.places]
            if len(originals) == 1 and originals[0] is message:  # edited in place, perhaps
                yield originals[0]
            else:
                yield from _changed(originals, entry.base, now)

    def _by_value(self) -> dict[str, list[Entry[Made]]]:
        found: dict[str, list[Entry[Made]]] = {}
        for entry in self._entries:
            found.setdefault(_text(entry.base), []).append(entry)
        return found


def _text(messages: Sequence[Message]) -> str:
    return json.dumps(list(messages), sort_keys=True, default=repr)


def _after(candidates: Sequence[Entry[Any]], last: int) -> Entry[Any] | None:
    """Return the first candidate after the last match, so that repeats keep their order."""
    later = [entry for entry in candidates if max(entry.places, default=-1) > last]
    return later[0] if later else candidates[0] if candidates else None


def _changed(
    originals: Sequence[Message], base: Sequence[Message], now: Sequence[Message]
) -> Iterator[Message]:
    if list(now) == list(base):
        yield from originals
        return
    known = {_slot(was): (original, was) for original, was in zip(originals, base, strict=False)}
    for message in now:
        slot = _slot(message)
        yield with_changes(*known[slot], message) if slot in known else message


def _slot(message: Message) -> tuple[Any, Any]:
    return message.get("role"), message.get("tool_call_id")


def with_changes(original: Message, base: Message, now: Message) -> Message:
    """Return a message with what a framework changed in it, and all else as it was.

    Args:
        original: the history's message.
        base: what came back of it unchanged, for want of a place or in another spelling.
        now: what came back of it.

    Returns:
        ``original`` itself where nothing changed.
    """
    if now == base:
        return original
    changed = dict(original)
    for key in (*base, *(key for key in now if key not in base)):
        if key not in now:
            changed.pop(key, None)
        elif key not in base or now[key] != base[key]:
            changed[key] = now[key]
    for key in ("content", "tool_calls"):
        if key in now:
            changed[key] = _kept(original.get(key), base.get(key), changed[key])
    return changed


def _kept(originals: Any, base: Any, now: Any) -> Any:
    """Return a changed list; a part or call that did not change stays to the last key and blank."""
    if not all(isinstance(value, list) for value in (originals, base, now)):
        return now
    known = list(zip(base, originals, strict=False)) if len(base) == len(originals) else []
    return [next((original for was, original in known if was == item), item) for item in now]
