"""Claude Code's sessions (``~/.claude/projects/*/*.jsonl``), and their export with ``loglines``.

Each history that the rows hold is a run: the session, what was left behind by a rewind or a retry,
and each sub-agent. The system prompt and the tool definitions are not in these files; nor is the
text that attachments (files, reminders, …) become in a request, except of a prompt that was typed
while the model was at work. The remaining fields of a row say when and where it was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.readers.branches import Way, departures, histories
from pytest_ctxguard.transcript.readers.checked import name, objects, whole
from pytest_ctxguard.transcript.readers.claude_code_messages import Said, Speech
from pytest_ctxguard.transcript.readers.claude_code_tree import (
    Node,
    Placed,
    Row,
    Tree,
    ambiguous,
)
from pytest_ctxguard.transcript.reading import Note, Reader, Reading, count
from pytest_ctxguard.transcript.wire.typed import mapping

UNRECORDED = "Claude Code does not record its system prompt and tools: no count has them"


def recognises(document: Document) -> bool:
    """Tell by the rows' types and ids, or by ``loglines``."""
    return any(map(_is_row, document.head)) or "loglines" in mapping(document.value)


def read(document: Document) -> Reading:
    """Read every history."""
    file = _File(document)
    if any(map(_is_row, document.head)):
        rows = [Placed(row, line) for line, row in document.rows]
    else:
        lines = objects(document, mapping(document.json).get("loglines"), where="loglines")
        rows = [Placed(row, index=index) for index, row in enumerate(lines)]
        for key in mapping(document.json):
            if key != "loglines":
                count(file.passed_over, key)
    file.place(rows)
    runs = file.runs()
    return Reading(
        format=READER.name,
        runs=runs,
        passed_over=file.passed_over,
        notes=tuple(dict.fromkeys(file.notes)),
    )


READER = Reader(name="claude-code", recognises=recognises, read=read)


def _is_row(row: Row) -> bool:
    kind = row.get("type")
    if kind in ("user", "assistant"):
        return isinstance(row.get("message"), dict) or ("uuid" in row and "parentUuid" in row)
    return (kind == "summary" and "leafUuid" in row) or kind == "file-history-snapshot"


@dataclass(slots=True)
class _File:
    document: Document
    tree: Tree = field(default_factory=lambda: Tree(frozenset()))
    passed_over: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def place(self, rows: Sequence[Placed]) -> None:
        """Put every row into the tree, or pass it over."""
        once = self._once(rows)
        self.tree.ambiguous = ambiguous(placed.row for placed in once)
        for placed in once:
            row = placed.row
            kind = row.get("type")
            if kind == "user":
                self.tree.user(placed)
                if "toolUseResult" in row:
                    count(self.passed_over, "user.toolUseResult")
            elif kind == "assistant":
                self.tree.assistant(placed)
            elif kind == "attachment" and _queued(row) is not None:
                self.tree.user(Placed(_queued(row) or row, placed.line, placed.index))
            elif not (row.get("subtype") == "compact_boundary" and self.tree.boundary(placed)):
                self.tree.other(row)
                self._pass_over(placed)

    def _once(self, rows: Sequence[Placed]) -> list[Placed]:
        """Return the rows without those that stand in the file once more, word for word."""
        seen: dict[str, list[Row]] = {}
        once = []
        for placed in rows:
            uuid = placed.row.get("uuid")
            earlier = seen.setdefault(uuid, []) if isinstance(uuid, str) else []
            if placed.row in earlier:
                count(self.passed_over, "repeated row")
                continue
            earlier.append(placed.row)
            once.append(placed)
        return once

    def _pass_over(self, placed: Placed) -> None:
        row = placed.row
        attached = mapping(row.get("attachment")).get("type")
        kinds = (row.get("type"), row.get("subtype") or attached)
        what = "/".join(str(kind) for kind in kinds if kind)
        count(self.passed_over, what or "row without a type")
        if row.get("subtype") == "microcompact_boundary":
            what = (
                "old tool results were cleared here: later calls were sent less than this run has"
            )
            self.notes.append(Note(what, placed.line))

    def runs(self) -> tuple[Transcript, ...]:
        """Return one transcript for each history."""
        nodes = self.tree.nodes
        ways = histories([node.parent for node in nodes], [True] * len(nodes)) or ((),)
        self._note_ways(ways)
        speech = Speech(self.document, self.passed_over)
        said = [speech.of(node) for node in nodes]
        stem = self.document.path.stem or "transcript"
        found = []
        for index, way in enumerate(ways):
            builder = Builder(self.document, name=f"{stem}-{index}" if len(ways) > 1 else stem)
            self._build(builder, way, said)
            found.append(builder.build(**_provenance([nodes[node] for node in way])))
            self.notes += builder.notes
        self.notes += speech.notes
        return tuple(found)

    def _note_ways(self, ways: Sequence[Way]) -> None:
        self.notes.append(Note(UNRECORDED))
        attached = sum(n for kind, n in self.passed_over.items() if kind.startswith("attachment"))
        if attached:
            what = f"{attached} attachments: what they became in a request is not in the file"
            self.notes.append(Note(what))
        if self.tree.stray:
            what = (
                "rows follow one that is not in the file, or not once: the order of the file counts"
            )
            self.notes.append(Note(f"{self.tree.stray} {what}"))
        roots = {way[0] for way in ways if way}
        for node in departures(ways):
            if node not in roots:
                line = self.tree.nodes[node].rows[0].line
                self.notes.append(Note("the history forks: two runs begin alike up to here", line))

    def _build(self, builder: Builder, way: Way, said: Sequence[Said]) -> None:
        position: dict[int, int] = {}
        for index in way:
            node, words = self.tree.nodes[index], said[index]
            position[index] = len(builder.messages)
            line = node.rows[0].line
            if node.kind == "compaction":
                self._compact(builder, node, words, position)
                continue
            if words.compacted is not None:
                builder.compact(inserted=words.compacted)
            for message in words.messages:
                builder.add(message, line=line, call=words.call)
            if words.interrupts:
                _interrupt(builder)

    def _compact(
        self, builder: Builder, node: Node, said: Said, position: Mapping[int, int]
    ) -> None:
        row = node.rows[0].row
        head, _ = self.tree.kept(row)
        facts = mapping(row.get("compactMetadata"))
        if not said.messages:
            builder.note("a compaction without its summary", line=node.rows[0].line)
        builder.compact(
            inserted=said.messages,
            kept_from=None if head is None else position.get(head),
            trigger=name(facts.get("trigger")),
            tokens_before=whole(facts.get("preTokens")),
            tokens_after=whole(facts.get("postTokens")),
            time=name(row.get("timestamp")),
        )


def _queued(row: Row) -> Row | None:
    """Return a prompt that was typed while the model was at work as the row it stands for."""
    attachment = mapping(row.get("attachment"))
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command" or not isinstance(prompt, str | list):
        return None
    others = {key: value for key, value in row.items() if key != "attachment"}
    return {**others, "type": "user", "message": {"role": "user", "content": prompt}}


def _interrupt(builder: Builder) -> None:
    """Mark the call before an interruption by the user."""
    for index in reversed(range(len(builder.messages))):
        if builder.messages[index]["role"] == "assistant":
            builder.note_call(index, {"interrupted": True})
            return


def _provenance(nodes: Sequence[Node]) -> dict[str, Any]:
    """Return what a run's rows say of where it comes from; the last that says it counts."""
    rows = [placed.row for node in nodes for placed in node.rows]
    own = rows[-1] if rows else {}
    return {
        "session": name(own.get("sessionId")) or name(own.get("session_id")),
        "version": name(own.get("version")),
        "time": name(rows[0].get("timestamp")) if rows else None,
        "sidechain": True if own.get("isSidechain") else None,
        "agent": name(own.get("agentId")),
    }
