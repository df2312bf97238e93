"""Bodies of Anthropic's Messages API as JSON or JSON Lines, with or without the responses.

A body that says nothing but what OpenAI's would say too is Anthropic's only if its response is.
"""

from __future__ import annotations

from typing import Any

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers import bodies
from pytest_ctxguard.transcript.reading import Reader, Reading
from pytest_ctxguard.transcript.wire.anthropic import WIRE


def recognises(document: Document) -> bool:
    """Tell by the first requests, one of which at least must be Anthropic's beyond doubt."""
    first = bodies.head(document)
    return bool(first) and all(map(_is_row, first)) and any(map(_is_ours, first))


def read(document: Document) -> Reading:
    """Read the requests as the sessions they were part of."""
    return bodies.read(document, WIRE)


def _request(value: Any) -> Any:
    return value.get("request", value) if isinstance(value, dict) else None


def _is_row(value: Any) -> bool:
    request = _request(value)
    return isinstance(request, dict) and isinstance(request.get("messages"), list)


def _is_ours(value: dict[str, Any]) -> bool:
    response = value.get("response")
    if isinstance(response, dict) and response.get("type") == "message":
        return True
    return WIRE.takes("", _request(value))


READER = Reader(name=WIRE.name, recognises=recognises, read=read)
