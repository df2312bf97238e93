"""Read a recorded session, whatever it was recorded by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.transcript.document import Document, open_document
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Reader, Reading


def read(path: str | Path, *, readers: Sequence[Reader] = ()) -> Reading:
    """Read a file in any known format, recognised by content.

    Args:
        path: the file.
        readers: further readers, asked before the built-in ones.

    Raises:
        TranscriptError: no reader recognises it, or it cannot be read whole.
    """
    document = open_document(path)
    reader = recognised(document, readers=readers)
    try:
        return reader.read(document)
    except RecursionError as error:
        raise document.fail("nested too deep") from error


def recognised(document: Document, *, readers: Sequence[Reader] = ()) -> Reader:
    """Return the first reader that recognises a document.

    Raises:
        TranscriptError: none does; the message says why as far as the file shows.
    """
    from pytest_ctxguard.transcript.readers.catalogue import READERS

    if not document.data.strip():
        raise document.fail("empty; a transcript has at least one message")
    for reader in (*readers, *READERS):
        if reader.recognises(document):
            return reader
    if document.head:
        document.rows  # noqa: B018 - raises with the place, if that is what is wrong
    elif document.data.lstrip()[:1] in (b"{", b"["):
        document.json  # noqa: B018 - likewise
    known = ", ".join(sorted({reader.name for reader in (*readers, *READERS)}))
    raise document.fail(
        f"not a transcript in a known format ({known}). Convert it, or add a reader in conftest.py "
        "(hook pytest_ctxguard_readers)."
    )


def read_transcript(
    path: str | Path, *, run: int | None = None, readers: Sequence[Reader] = ()
) -> Transcript:
    """Read one session of a file.

    Args:
        path: the file.
        run: which of its sessions, from 0; ``None``: the only one.
        readers: further readers.

    Raises:
        TranscriptError: the file cannot be read whole.
        UsageError: there are several sessions and ``run`` names none of them.
    """
    return choose(read(path, readers=readers), run, path=Path(path))


def choose(reading: Reading, run: int | None, *, path: Path) -> Transcript:
    """Return one session of a reading; see :func:`read_transcript`."""
    runs = reading.runs
    if run is None and len(runs) == 1:
        return runs[0]
    if run is None or not 0 <= run < len(runs):
        asked = "name one" if run is None else f"there is no run {run}"
        raise UsageError(
            f"{path} holds {len(runs)} runs, 0 to {len(runs) - 1}; {asked}, as in "
            f"{path.name + '#0'!r}. `pytest-ctxguard transcript show {path}` lists them."
        )
    return runs[run]
