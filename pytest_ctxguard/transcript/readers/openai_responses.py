"""Traffic of OpenAI's Responses API, as JSON or JSON Lines."""

from __future__ import annotations

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.readers import bodies
from pytest_ctxguard.transcript.reading import Reader, Reading
from pytest_ctxguard.transcript.wire.openai_responses import WIRE, is_request


def recognises(document: Document) -> bool:
    """Tell by the first requests, all of them."""
    return bodies.recognised(document, is_request)


def read(document: Document) -> Reading:
    """Read requests as the sessions they were part of."""
    return bodies.read(document, WIRE)


READER = Reader(name=WIRE.name, recognises=recognises, read=read)
