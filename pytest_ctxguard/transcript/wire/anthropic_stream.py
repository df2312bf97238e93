"""Put the events of a streamed answer of Anthropic's Messages API together again.

Source of the events: the Messages API's streaming reference and the types of its Python client.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pytest_ctxguard.transcript.wire import typed
from pytest_ctxguard.transcript.wire.wire import Body

APPENDED = {"text_delta": "text", "thinking_delta": "thinking"}  # delta -> its key, and the block's


def assemble(events: Sequence[Body]) -> Body:
    """Return the body that the same answer would have had without streaming.

    The input of a call that is no JSON, because the answer came to its length limit within it, is
    left as the text that came. An error event makes the answer an error.

    Raises:
        ValueError: the stream breaks off before ``message_stop``, or has an event, a delta or an
            order that is unknown.
    """
    answer = _Answer()
    for number, event in enumerate(events, 1):
        place = f"event {number} of the stream"
        kind = event.get("type")
        if kind == "error":
            return event
        if kind == "message_stop":
            return answer.whole(place)
        if kind != "ping":
            answer.take(event, kind, place)
    raise ValueError(
        f"the stream breaks off after {len(events)} events, before message_stop; "
        "the answer is not whole"
    )


class _Answer:
    """What has come of one answer so far."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}

    def take(self, event: Body, kind: Any, place: str) -> None:
        """Go on by one event."""
        if kind == "message_start":
            message = typed.object_at(event, "message", place)
            self._message = {**message, "usage": dict(typed.mapping(message.get("usage")))}
        elif not self._message:
            raise ValueError(f"{place} is {kind!r}, before message_start")
        elif kind == "content_block_start":
            self._start(event, place)
        elif kind == "content_block_delta":
            index = self._index(event, place)
            if index not in self._blocks:
                raise ValueError(f"{place} goes on with block {index}, which has not begun")
            self._delta(index, typed.object_at(event, "delta", place), place)
        elif kind == "message_delta":
            self._end(event, place)
        elif kind != "content_block_stop":
            raise ValueError(f"{place} is of an unknown type, {kind!r}")

    def whole(self, place: str) -> Body:
        """Return the answer."""
        if not self._message:
            raise ValueError(f"{place} is 'message_stop', before message_start")
        for index, pieces in self._inputs.items():
            written = "".join(pieces)
            try:
                self._blocks[index]["input"] = json.loads(written)
            except (ValueError, RecursionError):
                self._blocks[index]["input"] = written
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        begun = typed.objects(self._message.get("content") or [], "message_start.message.content")
        return {**self._message, "content": [*begun, *blocks]}

    def _start(self, event: Body, place: str) -> None:
        index = self._index(event, place)
        if index in self._blocks:
            raise ValueError(f"{place} begins block {index} once more")
        block = dict(typed.object_at(event, "content_block", place))
        self._blocks[index] = block
        model = typed.mapping(block.get("to")).get("model")
        if block.get("type") == "fallback" and isinstance(model, str):
            self._message["model"] = model  # the model that wrote what follows, as unstreamed

    def _delta(self, index: int, delta: Body, place: str) -> None:
        block, kind = self._blocks[index], typed.text(delta, "type", f"{place}: delta")
        if kind in APPENDED:
            key = APPENDED[kind]
            so_far = typed.string(block.get(key)) or ""
            block[key] = so_far + typed.text(delta, key, f"{place}: delta")
        elif kind == "input_json_delta":
            piece = typed.text(delta, "partial_json", f"{place}: delta")
            if piece:
                self._inputs.setdefault(index, []).append(piece)
        elif kind == "citations_delta":
            citations = typed.objects(block.get("citations") or [], f"{place}: citations")
            block["citations"] = [*citations, delta.get("citation")]
        elif kind in ("signature_delta", "compaction_delta"):
            block.update(typed.rest(delta, "type"))
        else:
            raise ValueError(f"{place} has a delta of an unknown type, {kind!r}")

    def _end(self, event: Body, place: str) -> None:
        self._message.update(typed.rest(typed.object_at(event, "delta", place), "usage", "content"))
        # Counts are totals so far; those that are left out stay as message_start had them.
        self._message["usage"].update(typed.rest(typed.mapping(event.get("usage"))))
        self._message.update(typed.rest(event, "type", "delta", "usage", "content"))

    @staticmethod
    def _index(event: Body, place: str) -> int:
        index = typed.integer(event.get("index"))
        if index is None:
            raise ValueError(f"{place}: `index` must be a whole number")
        return index
