"""OpenTelemetry's OTLP/JSON export of spans, by the GenAI conventions: a document, or rows of them.

Each span of a model call holds a whole request and its answer. Spans of one conversation id are
joined among themselves, all others by their histories: an application's turns are often traces of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import content_text
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers.checked import name
from pytest_ctxguard.transcript.readers.genai import has_messages, read_call
from pytest_ctxguard.transcript.readers.otlp_spans import (
    DETAILS,
    SIGNALS,
    Span,
    exports,
    spans_of,
)
from pytest_ctxguard.transcript.reading import Note, Reader, Reading, count
from pytest_ctxguard.transcript.runs import Exchange, join
from pytest_ctxguard.transcript.wire.typed import mapping

OPERATIONS = ("chat", "generate_content", "text_completion")
OLD_EVENTS = (
    *("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message"),
    *("gen_ai.tool.message", "gen_ai.choice", "gen_ai.content.prompt"),
)
CAPTURE = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only"
)

_Call = tuple[Span, Exchange]


def recognises(document: Document) -> bool:
    """Tell by the list of resources that every export begins with."""
    heads: Sequence[Any] = [document.value, *document.head[:1]]
    return any(signal in mapping(head) for head in heads for signal in SIGNALS)


def read(document: Document) -> Reading:
    """Read the model calls of all traces."""
    passed_over: dict[str, int] = {}
    spans = list(_spans(document, passed_over))
    calls = [span for span in spans if _is_call(span)]
    for span in spans:
        if not _is_call(span):
            operation = name(span.attributes.get("gen_ai.operation.name"))
            count(passed_over, f"span {operation or span.name or 'without a name'}")
        for event in span.events if _is_call(span) else ():
            count(passed_over, f"event {event}")
    captured = [span for span in calls if has_messages(span.attributes)]
    if not captured:
        raise document.fail(_without_messages(spans, calls, passed_over))
    notes = []
    if len(captured) < len(calls):
        passed_over["model call without its messages"] = len(calls) - len(captured)
        notes.append(
            Note(
                f"{len(calls) - len(captured)} of {len(calls)} model calls are recorded without "
                "their messages, and missing here: they failed early, or capture was off"
            )
        )
    read = [(span, _exchange(document, span, passed_over)) for span in captured]
    once = _once(read)
    if len(once) < len(read):
        passed_over["span that tells of the same call as the span around it"] = len(read) - len(
            once
        )
    runs: list[Transcript] = []
    for conversation, group in _groups(once):
        joined, more = join(
            document,
            [exchange for _, exchange in group],
            conversation_id=conversation,
            service=group[0][0].service,
        )
        runs += joined
        notes += more
    return Reading(
        format=READER.name, runs=tuple(runs), passed_over=passed_over, notes=tuple(notes)
    )


READER = Reader(name="opentelemetry", recognises=recognises, read=read)


def _spans(document: Document, passed_over: dict[str, int]) -> Iterator[Span]:
    """Yield every span, with what the event of its details knows besides."""
    details: dict[tuple[str | None, str | None], Span] = {}
    found: list[Span] = []
    for line, export in exports(document):
        for key in export:
            if key not in SIGNALS:
                count(passed_over, key)
        found += spans_of(document, "resourceSpans", export, line=line)
        for record in spans_of(document, "resourceLogs", export, line=line):
            kind = record.name or str(record.attributes.get("event.name") or "log record")
            if kind == DETAILS:
                details[record.trace, record.id or str(len(details))] = record
            else:
                count(passed_over, f"log {kind}")
    for span in found:
        event = details.pop((span.trace, span.id), None)
        if event is not None:
            span.attributes = {**event.attributes, **span.attributes}
        yield span
    yield from details.values()


def _is_call(span: Span) -> bool:
    operation = span.attributes.get("gen_ai.operation.name")
    if operation is None:  # before there were operations
        return has_messages(span.attributes) or "gen_ai.request.model" in span.attributes
    return operation in OPERATIONS


def _once(read: Sequence[_Call]) -> list[_Call]:
    """Leave out spans inside a span of the very same request: two libraries told of one call."""
    by_id: dict[tuple[str | None, str | None], Exchange] = {
        (span.trace, span.id): exchange for span, exchange in read if span.id
    }

    def again(span: Span, exchange: Exchange) -> bool:
        outer = by_id.get((span.trace, span.parent)) if span.parent != span.id else None
        return outer is not None and _asked(outer) == _asked(exchange)

    return [call for call in read if not again(*call)] or list(read)


def _asked(exchange: Exchange) -> list[tuple[Any, str]]:
    return [(message["role"], content_text(message)) for message in exchange.asked.messages]


def _groups(read: Sequence[_Call]) -> list[tuple[str | None, list[_Call]]]:
    groups: dict[str | None, list[_Call]] = {}
    for span, exchange in sorted(read, key=lambda call: call[0].start):
        conversation = name(span.attributes.get("gen_ai.conversation.id"))
        groups.setdefault(conversation, []).append((span, exchange))
    return list(groups.items())


def _exchange(document: Document, span: Span, passed_over: dict[str, int]) -> Exchange:
    try:
        return read_call(span, passed_over)
    except ValueError as error:
        where = f"span {span.name!r} ({span.id or 'without an id'})"
        raise document.fail(f"{where}: {error}", span.line) from error


def _without_messages(
    spans: Sequence[Span], calls: Sequence[Span], passed_over: dict[str, int]
) -> str:
    old = [event for span in spans for event in span.events if event in OLD_EVENTS]
    old += [event for event in OLD_EVENTS if f"log {event}" in passed_over]
    if old:
        return (
            f"its messages are events ({old[0]}), as the GenAI conventions had them up to 1.36; "
            f"they are read from spans, as the conventions have them since. Record with {CAPTURE}."
        )
    if calls:
        return (
            f"model calls: {len(calls)}, recorded without their messages: capture was off, or they "
            f"went into log events, another file. Record with {CAPTURE} (OpenLLMetry: "
            "TRACELOOP_TRACE_CONTENT=true)."
        )
    seen = ", ".join(sorted(passed_over)) or "nothing"
    return (
        "holds no span of a model call by the GenAI conventions (gen_ai.operation.name "
        f"{', '.join(OPERATIONS)}); it has: {seen}. Instrument the client that asks the model."
    )
