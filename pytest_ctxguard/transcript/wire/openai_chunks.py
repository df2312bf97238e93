"""The chunks of a streamed chat completion, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.openai_values import argument_text, objects
from pytest_ctxguard.transcript.wire.wire import Body

WHOLE = ("role", "id", "type", "index", "finish_reason")  # sent whole each time, not in pieces


def assemble(events: Sequence[Body]) -> Body:
    """Return the body that the same answer would have had without streaming.

    An error among the chunks is the answer: no client keeps the text before it.

    Raises:
        ValueError: a chunk is none, or the stream breaks off before ``finish_reason``.
    """
    body: dict[str, Any] = {}
    choices: dict[int, _Choice] = {}
    for number, event in enumerate(events, 1):
        if event.get("error"):
            return {"error": event["error"]}
        if not isinstance(event.get("choices"), list) and "usage" not in event:
            raise ValueError(f"event {number} of the stream is no chunk of a chat completion")
        body.update(typed.rest(event, "choices", "object", "obfuscation"))
        for position, choice in enumerate(objects(event.get("choices"), "choices")):
            index = choice.get("index", position)
            if not isinstance(index, int):
                raise ValueError(f"event {number} of the stream: `index` must be a number")
            choices.setdefault(index, _Choice()).take(choice, number)
    if not choices or not all(choice.rest.get("finish_reason") for choice in choices.values()):
        raise ValueError(
            f"the stream breaks off after {len(events)} events, before a `finish_reason`"
        )
    return {
        **body,
        "object": "chat.completion",
        "choices": [
            {"index": index, "message": choice.message(), **choice.rest}
            for index, choice in sorted(choices.items())
        ],
    }


class _Choice:
    """One growing answer."""

    def __init__(self) -> None:
        self.rest: dict[str, Any] = {"finish_reason": None}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: list[dict[str, Any]] = []
        self._slots: dict[int, int] = {}  # index of a call in the stream -> its place in _calls

    def take(self, choice: Mapping[str, Any], number: int) -> None:
        """Add a chunk."""
        delta = choice.get("delta")
        if not isinstance(delta, dict | None):
            raise ValueError(f"event {number} of the stream: `delta` must be an object")
        _merge(self.rest, typed.rest(choice, "delta", "index"))
        delta = delta or {}
        for piece in objects(delta.get("tool_calls"), "delta.tool_calls"):
            self._take_call(piece, number)
        _merge(self._message, typed.rest(delta, "tool_calls"))

    def message(self) -> dict[str, Any]:
        """Return the whole message; where it only calls, its content is null, as unstreamed."""
        if not self._calls:
            return self._message
        return {
            **self._message,
            "content": self._message["content"] or None,
            "tool_calls": self._calls,
        }

    def _take_call(self, piece: Mapping[str, Any], number: int) -> None:
        """Add a piece of a tool call to the call it names.

        By its index; one with another id at the same index, or with an id and no index, begins a
        call, as some servers send parallel calls.
        """
        index, call_id = piece.get("index"), piece.get("id")
        if not isinstance(index, int | None):
            raise ValueError(f"event {number} of the stream: `index` must be a number")
        slot = self._slots.get(index) if index is not None else len(self._calls) - 1
        known = self._calls[slot].get("id") if slot is not None and slot >= 0 else None
        if slot is None or slot < 0 or (call_id and known and call_id != known):
            slot = len(self._calls)
            self._calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
        if index is not None:
            self._slots[index] = slot
        call, function = self._calls[slot], piece.get("function")
        if not isinstance(function, dict | None):
            raise ValueError(f"event {number} of the stream: `function` must be an object")
        _merge(call, {k: v for k, v in typed.rest(piece, "index", "function").items() if v})
        function = function or {}
        name, arguments = function.get("name"), argument_text(function.get("arguments"))
        if name and name != call["function"]["name"]:  # some servers repeat it in each piece
            _merge(call["function"], {"name": name})
        _merge(call["function"], {**typed.rest(function, "name"), "arguments": arguments})


def _merge(into: dict[str, Any], pieces: Mapping[str, Any]) -> None:
    """Add pieces to what is there."""
    for key, piece in typed.rest(pieces).items():
        into[key] = piece if key in WHOLE else _joined(into.get(key), piece)


def _joined(old: Any, piece: Any) -> Any:
    """Join two pieces: texts and lists go on, objects are merged, anything else is replaced."""
    if isinstance(old, list) and isinstance(piece, str):
        piece = [{"type": "text", "text": piece}] if piece else []
    elif isinstance(old, str) and isinstance(piece, list):
        old = [{"type": "text", "text": old}] if old else []
    if isinstance(old, dict) and isinstance(piece, dict):
        merged = dict(old)
        _merge(merged, piece)
        return merged
    if isinstance(old, str) and isinstance(piece, str):
        return old + piece
    if isinstance(old, list) and isinstance(piece, list):
        return old + piece
    return piece
