"""What a reader is, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.model import Transcript


@dataclass(frozen=True, slots=True)
class Note:
    """Something about a file that its user should know and that is no reason to refuse it.

    Attributes:
        what: what was found, and what it means.
        line: where, from 1; ``None``: no line of its own.
    """

    what: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that was read of one file: a reader reads it whole, or raises.

    Attributes:
        format: the reader's name.
        runs: the sessions in it, in file order; at least one.
        passed_over: kind of row or field that is part of no message -> how many there were, so
            that nothing is left out in silence (for example ``file-history-snapshot``: 12).
        notes: what else its user should know.
    """

    format: str
    runs: tuple[Transcript, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads one format.

    Attributes:
        name: of the format, in kebab-case: ``claude-code``, ``openai-chat``.
        recognises: tells by content, quickly and without raising, whether a file is in it; a file
            that was cut off or damaged further down is still recognised, so that its error has a
            place.
        read: reads it whole; raises :class:`TranscriptError` (``document.fail``) where it cannot.
    """

    name: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document], Reading]


def count(passed_over: dict[str, int], kind: Any) -> None:
    """Count one more row or field of a kind."""
    passed_over[str(kind)] = passed_over.get(str(kind), 0) + 1
