"""Files of request bodies as they were sent to a provider, with or without the responses.

A file is one body, a list of them, or JSON Lines; a row is a body, a body with its ``response``
beside it, or an object with ``request`` and ``response``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_ctxguard.transcript.document import HEAD, Document
from pytest_ctxguard.transcript.reading import Reading, count
from pytest_ctxguard.transcript.runs import Exchange, join
from pytest_ctxguard.transcript.wire import sse
from pytest_ctxguard.transcript.wire.wire import Answer, Wire

IsRequest = Callable[[Any], bool]


def is_lines(document: Document) -> bool:
    """Tell whether a file is JSON Lines of objects: its first row is whole."""
    return document.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and bool(document.head)


def head(document: Document) -> list[Any]:
    """Return the first values of a file, to recognise it by; empty where it is not JSON."""
    if is_lines(document):
        return list(document.head)
    value = document.value
    return value[:HEAD] if isinstance(value, list) else [] if value is None else [value]


def values(document: Document) -> Iterator[tuple[int | None, str, Any]]:
    """Yield every value of a file: line, place for errors, value.

    Raises:
        TranscriptError: it is not JSON.
    """
    if is_lines(document):
        yield from ((line, "", row) for line, row in document.rows)
    elif isinstance(document.json, list):
        yield from ((None, f"[{i}]: ", value) for i, value in enumerate(document.json))
    else:
        yield None, "", document.json


def recognised(document: Document, is_request: IsRequest) -> bool:
    """Tell whether all the first values of a file are bodies of one format."""
    first = head(document)
    return bool(first) and all(is_request(_request(value)) for value in first)


def read(document: Document, wire: Wire) -> Reading:
    """Read the sessions in a file of bodies.

    Raises:
        TranscriptError: a body cannot be read; the message says what is wrong, where.
    """
    passed_over: dict[str, int] = {}
    exchanges = []
    for line, place, value in values(document):
        if not isinstance(value, dict):
            raise document.fail(f"{place}a request must be an object. Mend or remove it.", line)
        try:
            exchanges.append(_exchange(value, wire, line, passed_over))
        except ValueError as error:
            raise document.fail(f"{place}{error}. Mend or remove the request.", line) from error
    runs, notes = join(document, exchanges, format=wire.name)
    return Reading(format=wire.name, runs=runs, passed_over=passed_over, notes=notes)


def _request(value: Any) -> Any:
    """Return the request of a row, if it is a row of this kind."""
    return value["request"] if isinstance(value, dict) and "request" in value else value


def _exchange(
    row: Mapping[str, Any], wire: Wire, line: int | None, passed_over: dict[str, int]
) -> Exchange:
    request = _request(row)
    if not isinstance(request, dict):
        raise ValueError("`request` must be an object")
    if request is row:
        request = {key: value for key, value in row.items() if key != "response"}
    else:
        for key in row:
            if key not in ("request", "response"):
                count(passed_over, f"field {key}")
    answer = _answer(row.get("response"), wire)
    return Exchange(asked=wire.asked(request), answer=answer, line=line)


def _answer(response: Any, wire: Wire) -> Answer:
    """Read a response: a body, a list of streamed events, or either as text."""
    if response is None:
        return Answer()
    if isinstance(response, str):
        response = json.loads(response) if response.lstrip()[:1] == "{" else sse.events(response)
    if isinstance(response, list):
        if not all(isinstance(event, dict) for event in response):
            raise ValueError("`response` is a list, and not of events")
        response = wire.assemble(response)
    if not isinstance(response, dict):
        raise ValueError("`response` must be an object, a list of events, or text")
    return wire.answer(response)
