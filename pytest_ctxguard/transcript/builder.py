"""Put one session together, message by message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Compaction, Transcript
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.reading import Note
from pytest_ctxguard.transcript.shape import is_tool, wrong_with_message


class Builder:
    """Collects the messages of one session of a document.

    Attributes:
        messages: those added so far.
        notes: what was noted so far; ``build`` adds what the whole shows (results without calls).
    """

    def __init__(self, document: Document, *, name: str | None = None) -> None:
        self._document, self._name = document, name or document.path.stem or "transcript"
        self.messages: list[Message] = []
        self.notes: list[Note] = []
        self._lines: list[int | None] = []
        self._tools: list[Mapping[str, Any]] = []
        self._recorded: dict[int, Mapping[str, Any]] = {}
        self._compactions: list[Compaction] = []

    def tool(self, definition: Any, *, line: int | None = None) -> None:
        """Add an OpenAI tool definition; the same one once more is nothing new.

        Raises:
            TranscriptError: it is none.
        """
        if not is_tool(definition):
            raise self._document.fail("a tool definition needs `function.name`", line)
        if definition not in self._tools:
            self._tools.append(definition)

    def add(
        self,
        message: Any,
        *,
        line: int | None = None,
        where: str = "",
        call: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a chat message.

        Args:
            message: in OpenAI chat format.
            line: where it stands in the file, for errors and notes.
            where: its place in a JSON value, for errors in a file without lines.
            call: what is known of the call it answers (assistant messages only); keys without a
                value are left out.

        Returns:
            Its index.

        Raises:
            TranscriptError: it is no chat message.
        """
        wrong = wrong_with_message(message)
        if wrong and where:
            wrong = f"`{where}`: {wrong}. Mend or remove it."
        if wrong:
            raise self._document.fail(wrong, line)
        index = len(self.messages)
        self.messages.append(message)
        self._lines.append(line)
        if call is not None:
            self.note_call(index, call)
        return index

    def note_call(self, index: int, call: Mapping[str, Any]) -> None:
        """Add to what is known of the call that an assistant message answers."""
        known = {key: value for key, value in call.items() if value is not None}
        self._recorded[index] = {**self._recorded.get(index, {}), **known}

    def note(self, what: str, *, line: int | None = None) -> None:
        """Note something that is no reason to refuse the file."""
        self.notes.append(Note(what, line))

    def compact(
        self, *, inserted: Sequence[Message], kept_from: int | None = None, **recorded: Any
    ) -> None:
        """Note that the session goes on from here with less; see :class:`Compaction`."""
        at = len(self.messages)
        known = {key: value for key, value in recorded.items() if value is not None}
        kept = at if kept_from is None else kept_from
        self._compactions.append(
            Compaction(at=at, kept_from=kept, inserted=tuple(inserted), recorded=known)
        )

    def build(self, **provenance: Any) -> Transcript:
        """Return the session; keyword arguments without a value are left out of its provenance.

        Raises:
            TranscriptError: it has no messages.
        """
        if not self.messages:
            raise self._document.fail("has no messages; nothing could be replayed")
        for index in pair(self.messages).orphans:
            call_id = self.messages[index].get("tool_call_id")
            self.note(
                f"tool result for call {call_id!r}, which no earlier message makes, or which has "
                "its result already; providers refuse it",
                line=self._lines[index],
            )
        return Transcript(
            name=self._name,
            messages=tuple(self.messages),
            tools=tuple(self._tools),
            recorded=dict(sorted(self._recorded.items())),
            compactions=tuple(self._compactions),
            provenance={key: value for key, value in provenance.items() if value is not None},
        )
