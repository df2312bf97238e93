"""Read the body of a stream of server-sent events."""

from __future__ import annotations

import json
import re
from typing import Any

LINE_END = re.compile(r"\r\n|\r|\n")  # str.splitlines would also split at U+2028, inside the JSON
FIELDS = ("data", "event", "id", "retry")


def events(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a stream's events, in order.

    Events without data, comments and OpenAI's closing ``[DONE]`` are none of them. The name of an
    event becomes the object's ``type`` where it has none. The last event needs no blank line after
    it, for recorders strip those.

    Raises:
        ValueError: an event is no JSON object, with its number from 1; or a line belongs to no
            event stream, with its number from 1.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6; further
    fields, which a browser would ignore, are refused.
    """
    found: list[dict[str, Any]] = []
    number, name, data = 0, "", list[str]()
    for line_number, line in enumerate((*LINE_END.split(text.removeprefix("\ufeff")), ""), 1):
        if not line:
            number += bool(data)
            value = _value("\n".join(data), name, number)
            found += [value] if value is not None else []
            name, data = "", []
            continue
        field, _, value_text = line.partition(":")
        value_text = value_text.removeprefix(" ")
        if field == "data":
            data.append(value_text)
        elif field == "event":
            name = value_text
        elif field and field not in FIELDS:
            raise ValueError(f"line {line_number} is not of an event stream: {line[:60]!r}")
    return found


def _value(data: str, name: str, number: int) -> dict[str, Any] | None:
    if not data.strip() or data.strip() == "[DONE]":
        return None
    try:
        value = json.loads(data)
    except RecursionError as error:
        raise ValueError(f"event {number} of the stream is nested too deep") from error
    except ValueError as error:
        what = f"event {number} of the stream is not JSON ({error}); the stream may have broken off"
        raise ValueError(what) from error
    if not isinstance(value, dict):
        raise ValueError(f"event {number} of the stream is not a JSON object: {data[:60]!r}")
    if name and name != "message" and "type" not in value:  # "message" is every event's own name
        return {"type": name, **value}
    return value
