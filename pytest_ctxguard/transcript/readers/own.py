"""The project's own JSON Lines (docs/transcripts.md)."""

from __future__ import annotations

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.jsonl import parse
from pytest_ctxguard.transcript.reading import Reader, Reading


def recognises(document: Document) -> bool:
    """Tell by the header line."""
    return bool(document.head) and document.head[0].get("type") == "transcript"


def read(document: Document) -> Reading:
    """Read a transcript as it was written."""
    return Reading(format="ctxguard", runs=(parse(document),))


READER = Reader(name="ctxguard", recognises=recognises, read=read)
