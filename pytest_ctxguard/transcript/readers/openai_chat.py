"""Chat-completions traffic, and plain lists of OpenAI-format messages, as JSON or JSON Lines."""

from __future__ import annotations

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers import bodies
from pytest_ctxguard.transcript.reading import Reader, Reading
from pytest_ctxguard.transcript.wire.openai_chat import WIRE, is_request
from pytest_ctxguard.transcript.wire.openai_messages import Messages, plausible


def recognises(document: Document) -> bool:
    """Tell by the first messages or requests, all of them."""
    first = bodies.head(document)
    return (bool(first) and all(map(plausible, first))) or bodies.recognised(document, _is_body)


def read(document: Document) -> Reading:
    """Read a list of messages as one session, requests as the sessions they were part of."""
    if not any(map(plausible, bodies.head(document)[:1])):
        return bodies.read(document, WIRE)
    messages = Messages()
    builder = Builder(document)
    for line, place, value in bodies.values(document):
        try:
            messages.add(value, where=place.removesuffix(": ") or "message")
        except ValueError as error:
            raise document.fail(f"{error}. Mend or remove the message.", line) from error
        builder.add(messages.messages[-1], line=line)
    run = builder.build(format=WIRE.name)
    return Reading(format=WIRE.name, runs=(run,), notes=tuple(builder.notes))


def _is_body(value: object) -> bool:
    """Tell a request from what else has such messages: mini-swe-agent's files name their format."""
    return is_request(value) and isinstance(value, dict) and "trajectory_format" not in value


READER = Reader(name=WIRE.name, recognises=recognises, read=read)
