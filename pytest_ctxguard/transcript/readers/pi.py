"""Sessions of the pi coding agent: JSON Lines under ``~/.pi/agent/sessions``.

Version 1 is a list; from version 2 on, entries form a tree (``id``, ``parentId``), and each way
through it to a leaf is a run. A summary is kept as it was recorded, without the sentence that pi
puts around it. The system prompt and the tool definitions are not in these files.

Source of the format: packages/coding-agent/src/core/session-manager.ts of badlogic/pi-mono.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers.branches import Way, departures, histories
from pytest_ctxguard.transcript.readers.checked import first, name
from pytest_ctxguard.transcript.readers.pi_messages import Said, said
from pytest_ctxguard.transcript.reading import Note, Reader, Reading, count

Row = Mapping[str, Any]


def recognises(document: Document) -> bool:
    """Tell by the session header, or by a first entry whose message pi wrote."""
    header = document.head[0] if document.head else {}
    if header.get("type") == "session":
        return isinstance(header.get("id"), str)
    return header.get("type") == "message" and "message" in header and "timestamp" in header


def read(document: Document) -> Reading:
    """Read every way through the session."""
    file = _File(document)
    file.place(document.rows)
    runs = file.runs()
    return Reading(
        format=READER.name,
        runs=runs,
        passed_over=file.passed_over,
        notes=tuple(dict.fromkeys(file.notes)),
    )


READER = Reader(name="pi", recognises=recognises, read=read)


@dataclass(slots=True)
class _Entry:
    """One entry of the tree: what it says, or what it changes."""

    line: int
    row: Row
    said: Said | None


@dataclass(slots=True)
class _File:
    document: Document
    header: Row = field(default_factory=dict)
    entries: list[_Entry] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    at_row: list[int | None] = field(default_factory=list)  # row of the file -> its entry
    by_id: dict[str, int] = field(default_factory=dict)
    passed_over: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def place(self, rows: Sequence[tuple[int, Row]]) -> None:
        """Put every row into the tree."""
        for line, row in rows:
            if row.get("type") == "session":
                self._head(row, line)
                self.at_row.append(None)
                continue
            entry = _Entry(line, row, self._said(row, line))
            self.parents.append(self._parent(row, line))
            self.entries.append(entry)
            self.at_row.append(len(self.entries) - 1)
            self._name(row, line)

    def _head(self, row: Row, line: int) -> None:
        if self.header:
            count(self.passed_over, "session (a further header)")
            self.notes.append(Note("a second session header; one session was read", line))
        else:
            self.header = row

    def _said(self, row: Row, line: int) -> Said | None:
        kind = row.get("type")
        if kind in ("message", "custom_message", "branch_summary"):
            result = said(self.document, row, line=line, passed_over=self.passed_over)
            if result is None:
                count(self.passed_over, "message kept from the model")
            return result
        if kind == "compaction":
            if not isinstance(row.get("summary"), str):
                raise self.document.fail("`summary` of a compaction must be text. Mend it.", line)
        else:
            count(self.passed_over, kind or "row without a type")
        return None

    def _parent(self, row: Row, line: int) -> int | None:
        before = len(self.entries) - 1 if self.entries else None
        if "parentId" not in row:
            return before
        parent = row["parentId"]
        if parent is None:
            return None
        if not isinstance(parent, str) or parent not in self.by_id:
            self.notes.append(
                Note(f"no earlier entry has the id {parent!r}; the order of the file counts", line)
            )
            return before
        return self.by_id[parent]

    def _name(self, row: Row, line: int) -> None:
        own = row.get("id")
        if isinstance(own, str):
            if own in self.by_id:
                self.notes.append(
                    Note(f"a second entry with the id {own!r}; the later counts", line)
                )
            self.by_id[own] = len(self.entries) - 1

    def runs(self) -> tuple[Transcript, ...]:
        """Return one transcript for each way through the tree."""
        says = [
            entry.said is not None or entry.row.get("type") == "compaction"
            for entry in self.entries
        ]
        ways = histories(self.parents, says) or ((),)
        self._note_ways(ways)
        stem = self.document.path.stem or "transcript"
        header = self.header
        found = []
        for index, way in enumerate(ways):
            builder = Builder(self.document, name=f"{stem}-{index}" if len(ways) > 1 else stem)
            self._build(builder, way)
            run = builder.build(
                session=name(header.get("id")),
                time=name(header.get("timestamp")),
                version=header.get("version"),
                parent=name(first(header, ("parentSession", "branchedFrom"))),
            )
            found.append(run)
            self.notes += builder.notes
        return tuple(found)

    def _note_ways(self, ways: Sequence[Way]) -> None:
        self.notes.append(Note("pi does not record its system prompt and tools: no count has them"))
        if len(ways) > 1:
            lines = ", ".join(str(self.entries[node].line) for node in departures(ways))
            self.notes.append(
                Note(f"the session forks, at line {lines}: {len(ways)} runs that begin alike")
            )

    def _build(self, builder: Builder, way: Sequence[int]) -> None:
        level = name(self.header.get("thinkingLevel"))
        position: dict[int, int] = {}  # entry -> index of the first message from it on
        for node in way:
            entry = self.entries[node]
            position[node] = len(builder.messages)
            kind = entry.row.get("type")
            if kind == "thinking_level_change":
                level = name(entry.row.get("thinkingLevel"))
            elif kind == "compaction":
                self._compact(builder, entry, position)
            elif entry.said is not None:
                call = entry.said.call
                if call is not None:
                    call = {**call, "thinking_level": level}
                builder.add(entry.said.message, line=entry.line, call=call)

    def _compact(self, builder: Builder, entry: _Entry, position: Mapping[int, int]) -> None:
        row = entry.row
        kept = self._first_kept(row)
        at = None if kept is None else position.get(kept)
        if at is None:
            builder.note(
                "the first entry that this compaction kept is not on the way to it; none was kept",
                line=entry.line,
            )
        summary = {"role": "user", "content": parts.content([parts.text(row["summary"])])}
        builder.compact(
            inserted=(summary,),
            kept_from=at,
            tokens_before=row.get("tokensBefore"),
            time=name(row.get("timestamp")),
        )

    def _first_kept(self, row: Row) -> int | None:
        """Return the entry a compaction keeps from: by id, or by row of the file from 0."""
        own = row.get("firstKeptEntryId")
        if isinstance(own, str):
            return self.by_id.get(own)
        index = row.get("firstKeptEntryIndex")
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(self.at_row):
            return self.at_row[index]
        return None
