"""The spans and log records of an OTLP/JSON export, with plain values."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers.checked import name, objects, whole
from pytest_ctxguard.transcript.wire.typed import mapping

EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
DETAILS = "gen_ai.client.inference.operation.details"  # the event that carries what a span may
TIMES = ("startTimeUnixNano", "timeUnixNano", "observedTimeUnixNano")  # a record has one of two
SIGNALS = {
    "resourceSpans": ("scopeSpans", "spans"),
    "resourceLogs": ("scopeLogs", "logRecords"),
}


@dataclass(slots=True, kw_only=True)
class Span:
    """One span, or one log record, which has no times but its own.

    Attributes:
        trace, id, parent: in hexadecimal; ``None``: not said.
        name: of the span, or of the event that a log record is.
        start, end: nanoseconds since 1970; 0: not said.
        attributes: with plain values.
        events: names of the span's events.
        error: what went wrong, as its status says.
        service: the resource's ``service.name``.
        line: where it stands, from 1.
    """

    trace: str | None
    id: str | None
    parent: str | None = None
    name: str = ""
    start: int = 0
    end: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    error: str | None = None
    service: str | None = None
    line: int | None = None

    @property
    def time(self) -> str | None:
        """Its start, as ISO 8601 with microseconds."""
        if not 0 < self.start < 2**63:
            return None
        return (EPOCH + timedelta(microseconds=self.start // 1000)).isoformat()


def exports(document: Document) -> tuple[tuple[int | None, Mapping[str, Any]], ...]:
    """Return the export requests of a file: one JSON document, or one a line."""
    if isinstance(document.value, dict):
        return ((None, document.value),)
    return document.rows


def spans_of(
    document: Document, signal: str, export: Mapping[str, Any], *, line: int | None
) -> Iterator[Span]:
    """Yield the spans (``resourceSpans``) or log records (``resourceLogs``) of one export.

    Raises:
        TranscriptError: a list of them is none.
    """
    inner, leaf = SIGNALS[signal]
    for i, resource in enumerate(_objects(document, export.get(signal), signal, line)):
        described = attributes(mapping(resource.get("resource")).get("attributes"))
        where = f"{signal}[{i}].{inner}"
        for j, scope in enumerate(_objects(document, resource.get(inner), where, line)):
            for raw in _objects(document, scope.get(leaf), f"{where}[{j}].{leaf}", line):
                yield _span(raw, service=name(described.get("service.name")), line=line)


def attributes(values: Any) -> dict[str, Any]:
    """Return a list of keys with ``AnyValue`` as a plain dict.

    A key that is no text stands as text, so that it is counted as an unknown one.
    """
    return {
        str(mapping(item).get("key")): plain(mapping(item).get("value"))
        for item in (values if isinstance(values, list) else ())
    }


def plain(value: Any) -> Any:
    """Return the JSON value that an ``AnyValue`` stands for; 64-bit integers stand as text."""
    kind, inner = next(iter(mapping(value).items()), (None, None))
    if kind == "intValue":
        try:
            return int(str(inner))
        except (TypeError, ValueError, OverflowError):
            return inner
    if kind == "arrayValue":
        items = mapping(inner).get("values", [])  # protobuf's JSON leaves out empty lists
        return [plain(item) for item in items] if isinstance(items, list) else inner
    if kind == "kvlistValue":
        pairs = mapping(inner).get("values", [])
        return attributes(pairs) if isinstance(pairs, list) else inner
    return inner


def _objects(
    document: Document, value: Any, where: str, line: int | None
) -> Sequence[Mapping[str, Any]]:
    if value is None:  # left out where it is empty
        return ()
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    if line is None:
        return objects(document, value, where=where)
    raise document.fail(f"`{where}` must be a list of objects. Mend or remove the line.", line)


def _span(raw: Mapping[str, Any], *, service: str | None, line: int | None) -> Span:
    status = mapping(raw.get("status"))
    failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    events = raw.get("events")
    return Span(
        trace=_hex(raw.get("traceId")),
        id=_hex(raw.get("spanId")),
        parent=_hex(raw.get("parentSpanId")),
        name=name(raw.get("name")) or name(raw.get("eventName")) or "",
        start=next((t for t in map(whole, map(raw.get, TIMES)) if t), 0),
        end=whole(raw.get("endTimeUnixNano")) or 0,
        attributes=attributes(raw.get("attributes")),
        events=tuple(
            str(mapping(event).get("name"))
            for event in (events if isinstance(events, list) else ())
        ),
        error=(name(status.get("message")) or "error") if failed else None,
        service=service,
        line=line,
    )


def _hex(value: Any) -> str | None:
    """Return an id in hexadecimal: OTLP's JSON has it so, protobuf's own JSON has base64."""
    text = name(value)
    if text is None or len(text) in (16, 32):
        return text and text.lower()
    try:
        return base64.b64decode(text, validate=True).hex()
    except (ValueError, binascii.Error):
        return text
