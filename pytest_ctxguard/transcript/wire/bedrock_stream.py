"""Put the events of a streamed answer of Bedrock together again.

Source of the events: ``ConverseStream`` in the Amazon Bedrock runtime API reference.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pytest_ctxguard.transcript.wire import anthropic_stream, typed
from pytest_ctxguard.transcript.wire.wire import Body


def assemble(events: Sequence[Body]) -> Body:
    """Return the body that the same answer would have had without streaming.

    The input of a call that is no JSON, because the answer came to its length limit within it, is
    left as the text that came. An exception makes the answer an error.

    Raises:
        ValueError: the stream breaks off before ``messageStop``, or has an unknown event or delta.
    """
    if events and "type" in events[0]:
        return anthropic_stream.assemble(events)
    message: dict[str, Any] = {"role": "assistant"}
    content: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    stopped = False
    for number, event in enumerate(events, 1):
        kind = next(iter(event), "empty")
        value, place = typed.mapping(event.get(kind)), f"event {number} of the stream"
        if kind == "messageStart":
            message["role"] = value.get("role", "assistant")
        elif kind in ("contentBlockStart", "contentBlockDelta"):
            _grow(content, kind, value, place)
        elif kind in ("messageStop", "metadata"):
            stopped = stopped or kind == "messageStop"
            whole.update(typed.rest(value, "p"))  # padding
        elif isinstance(value.get("message"), str):
            return {"__type": kind, "message": value["message"]}
        elif kind != "contentBlockStop":
            raise ValueError(f"{place} is of an unknown type, {kind!r}")
    if not stopped:
        raise ValueError(
            f"the stream breaks off after {len(events)} events, before messageStop; "
            "the answer is not whole"
        )
    message["content"] = [_closed(content[index]) for index in sorted(content)]
    return {**whole, "output": {"message": message}}


def _grow(content: dict[int, dict[str, Any]], kind: str, value: Body, place: str) -> None:
    index = typed.integer(value.get("contentBlockIndex"))
    if index is None:
        raise ValueError(f"{place}: `contentBlockIndex` must be a whole number")
    block = content.setdefault(index, {})
    if kind == "contentBlockStart":
        block.update(typed.object_at(value, "start", place))
        return
    delta = typed.object_at(value, "delta", place)
    for key in delta:
        if key == "text":
            block[key] = _grown(block, delta, key, place)
        elif key == "toolUse":
            use = typed.mapping(block.get(key))
            block[key] = {**use, **_all_grown(use, typed.object_at(delta, key, place), place)}
        elif key == "reasoningContent":
            block[key] = _thought(typed.mapping(block.get(key)), delta, place)
        elif key == "citation":
            found = block.get("citations")
            block["citations"] = [*(found if isinstance(found, list) else ()), delta[key]]
        else:
            raise ValueError(f"{place} has a delta of an unknown type, {key!r}")


def _thought(before: Body, delta: Body, place: str) -> dict[str, Any]:
    """Return a thought grown by a delta, whose text and signature stand one level deeper then."""
    piece = typed.object_at(delta, "reasoningContent", place)
    if "redactedContent" in piece:
        return {**before, **_all_grown(before, piece, place)}
    text = typed.mapping(before.get("reasoningText"))
    return {**before, "reasoningText": {**text, **_all_grown(text, piece, place)}}


def _all_grown(before: Body, delta: Body, place: str) -> dict[str, str]:
    return {name: _grown(before, delta, name, place) for name in delta}


def _grown(before: Body, delta: Body, name: str, place: str) -> str:
    return (typed.string(before.get(name)) or "") + typed.text(delta, name, f"{place}: delta")


def _closed(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block whose pieces are all there as it is without streaming."""
    if isinstance(block.get("toolUse"), dict):
        written = typed.string(block["toolUse"].get("input")) or "{}"
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            value = written
        return {"toolUse": {**block["toolUse"], "input": value}}
    if "citations" in block:
        content = [{"text": block.get("text", "")}]
        return {"citationsContent": {"content": content, "citations": block["citations"]}}
    return block
