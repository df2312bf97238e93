"""Say more in a transcript: in a message or in new ones; what points at messages moves along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Compaction, Fact, Transcript


@dataclass(frozen=True, slots=True)
class Edit:
    """One addition.

    Attributes:
        at: index of a message; one past the last where messages come at the end.
        text: added to that message as a line of its own.
        inserted: messages that go before it; the first of them says what is planted.
    """

    at: int
    text: str = ""
    inserted: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Edited:
    """A transcript with additions.

    Attributes:
        transcript: the new one.
        stated: for each edit, the index of the message that says it.
        moved: index of a message before, or one past the last -> where it is now.
    """

    transcript: Transcript
    stated: tuple[int, ...]
    moved: tuple[int, ...]


def edited(transcript: Transcript, edits: Sequence[Edit]) -> Edited:
    """Make additions; the transcript given stays as it is."""
    messages: list[Message] = []
    stated: dict[int, int] = {}  # number of the edit -> index
    moved: list[int] = []
    for at in range(len(transcript.messages) + 1):
        here = [(number, edit) for number, edit in enumerate(edits) if edit.at == at]
        for number, edit in here:
            if edit.inserted:
                stated[number] = len(messages)
                messages += edit.inserted
        moved.append(len(messages))
        if at < len(transcript.messages):
            message = transcript.messages[at]
            for number, edit in here:
                if edit.text:
                    stated[number] = moved[-1]
                    message = with_line(message, edit.text)
            messages.append(message)
    changed = replace(
        transcript,
        messages=tuple(messages),
        facts=tuple(_moved_fact(fact, moved) for fact in transcript.facts),
        recorded={moved[at]: known for at, known in transcript.recorded.items()},
        compactions=tuple(_moved_compaction(c, moved) for c in transcript.compactions),
    )
    return Edited(changed, tuple(stated[number] for number in range(len(edits))), tuple(moved))


def with_line(message: Message, text: str) -> dict[str, Any]:
    """Return a message with a line more; in list content, a text part more."""
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [*content, {"type": "text", "text": text}]}
    return {**message, "content": f"{content}\n{text}" if content else text}


def _moved_fact(fact: Fact, moved: Sequence[int]) -> Fact:
    asked_at = None if fact.asked_at is None else moved[fact.asked_at]
    return replace(fact, planted_at=moved[fact.planted_at], asked_at=asked_at)


def _moved_compaction(compaction: Compaction, moved: Sequence[int]) -> Compaction:
    return replace(compaction, at=moved[compaction.at], kept_from=moved[compaction.kept_from])
