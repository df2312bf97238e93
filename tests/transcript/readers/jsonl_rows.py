"""Write rows as JSON Lines and read them back with one reader."""

import json
from pathlib import Path

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import content_text
from pytest_ctxguard.transcript.parts import opaque_parts


def document(rows, name="session.jsonl"):
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    return Document(Path(name), text.encode())


def read(reader, rows):
    made = document(rows)
    assert reader.recognises(made)
    return reader.read(made)


def read_one(reader, rows):
    (run,) = read(reader, rows).runs
    return run


def roles(run):
    return " ".join(str(message["role"]) for message in run.messages)


def texts(run):
    return [content_text(message) for message in run.messages]


def notes(reading):
    return " | ".join(note.what for note in reading.notes)


def opaque(run):
    return [part["of"] for part in opaque_parts(run.messages)]
