"""The transcript format: JSON Lines, version 1 (documented in docs/transcripts.md).

Every line is an object with one ``type``:

- ``transcript``: the first line, with ``version``, ``name``, ``provenance``, and how many
  ``tools``, ``messages``, ``compactions`` and ``facts`` follow, so that a truncated file is
  noticed; ``orphan_results`` says how many tool results answer no call, which is refused unless
  it was recorded so;
- ``tool``: one OpenAI tool definition under ``tool``;
- ``message``: one OpenAI chat message under ``message``, and under ``call`` what the recorder
  knew of the call it answers (assistant messages only);
- ``compaction``: where the recorded session went on with less, under ``compaction``;
- ``fact``: one planted fact; indices count messages from 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document, open_document
from pytest_ctxguard.transcript.fact_json import dump_fact, read_fact
from pytest_ctxguard.transcript.facts import problem_of
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Compaction, Transcript
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.shape import is_tool, wrong_with_message

VERSION = 1
KEYS = {
    "transcript": {
        "type",
        "version",
        "name",
        "tools",
        "messages",
        "compactions",
        "orphan_results",
        "facts",
        "provenance",
    },
    "tool": {"type", "tool"},
    "message": {"type", "message", "call"},
    "compaction": {"type", "compaction"},
    "fact": {"type", "fact"},
}


def load(path: str | Path) -> Transcript:
    """Read a transcript whole.

    Raises:
        TranscriptError: the file is missing, broken, truncated or of another version; the
            message names path and line and says what to do.
    """
    return parse(open_document(path))


def parse(document: Document) -> Transcript:
    """Read a transcript from a file that is open already; see :func:`load`."""
    if not document.rows:
        raise document.fail("empty; the first line must be a transcript header")
    return _Reader(document).read()


def dump(transcript: Transcript, path: str | Path) -> None:
    """Write a transcript; :func:`load` reads the same value back. The write is atomic."""
    header: dict[str, Any] = {
        "type": "transcript",
        "version": VERSION,
        "name": transcript.name,
        "tools": len(transcript.tools),
        "messages": len(transcript.messages),
        "facts": len(transcript.facts),
        "provenance": transcript.provenance,
    }
    orphans = len(pair(transcript.messages).orphans)
    seldom = {"compactions": len(transcript.compactions), "orphan_results": orphans}
    header.update({key: number for key, number in seldom.items() if number})
    rows: list[dict[str, Any]] = [header]
    rows += ({"type": "tool", "tool": tool} for tool in transcript.tools)
    for index, message in enumerate(transcript.messages):
        row: dict[str, Any] = {"type": "message", "message": message}
        if index in transcript.recorded:
            row["call"] = transcript.recorded[index]
        rows.append(row)
    rows += (
        {"type": "compaction", "compaction": asdict(compaction)}
        for compaction in transcript.compactions
    )
    rows += ({"type": "fact", "fact": dump_fact(fact)} for fact in transcript.facts)
    # ASCII-only JSON carries any string, lone surrogates included, and no U+2028 breaks a line.
    text = "".join(json.dumps(row) + "\n" for row in rows)
    write_atomically(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8"))


class _Reader:
    """Reads the lines of one file; keeps the place for errors."""

    def __init__(self, document: Document) -> None:
        self.document, self.fail = document, document.fail
        self.messages: list[Message] = []
        self.tools: list[Mapping[str, Any]] = []
        self.facts: list[tuple[int, Any]] = []
        self.compactions: list[tuple[int, Any]] = []
        self.recorded: dict[int, Mapping[str, Any]] = {}
        self.lines: list[int] = []  # of the messages

    def read(self) -> Transcript:
        rows = [(n, self._row(n, row)) for n, row in self.document.rows]
        header = self._header(*rows[0])
        for n, row in rows[1:]:
            self._take(n, row)
        self._check_counts(header)
        if not self.messages:
            raise self.fail("has no messages; nothing could be replayed")
        self._check_results(header)
        compactions = tuple(self._compaction(n, value) for n, value in self.compactions)
        facts = tuple(read_fact(fact, self._at(n)) for n, fact in self.facts)
        transcript = Transcript(
            name=header["name"],
            messages=tuple(self.messages),
            tools=tuple(self.tools),
            facts=facts,
            recorded=self.recorded,
            compactions=compactions,
            provenance=header.get("provenance", {}),
        )
        self._check_facts(transcript)
        return transcript

    def _at(self, n: int) -> Callable[[str], TranscriptError]:
        return lambda what: self.fail(what, n)

    def _check_facts(self, transcript: Transcript) -> None:
        seen: set[str] = set()
        for (n, _), fact in zip(self.facts, transcript.facts, strict=True):
            if fact.name in seen:
                raise self.fail(f"a second fact named {fact.name!r}; rename one", n)
            seen.add(fact.name)
            problem = problem_of(fact, transcript)
            if problem:
                raise self.fail(f"fact {fact.name!r}: {problem}", n)

    def _row(self, n: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        if row.get("type") not in tuple(KEYS):  # may be unhashable
            raise self.fail(f"not a transcript line: `type` must be one of {', '.join(KEYS)}", n)
        unknown = sorted(set(row) - KEYS[row["type"]])
        if unknown:
            known = ", ".join(sorted(KEYS[row["type"]]))
            raise self.fail(f"unknown key {unknown[0]!r}; a {row['type']} line has: {known}", n)
        return row

    def _header(self, n: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        if row["type"] != "transcript":
            raise self.fail(
                f"the first line is a {row['type']} line, not the transcript header. Put "
                '{"type": "transcript", "version": 1, "name": …} before it.',
                n,
            )
        if row.get("version") != VERSION:
            raise self.fail(
                f"version {row.get('version')!r} is not supported; this release reads {VERSION}. "
                "Upgrade pytest-ctxguard, or correct `version`.",
                n,
            )
        if not isinstance(row.get("name"), str) or not row["name"]:
            raise self.fail("the header has no `name`", n)
        if not isinstance(row.get("provenance", {}), dict):
            raise self.fail("`provenance` must be an object", n)
        return row

    def _check_counts(self, header: Mapping[str, Any]) -> None:
        """Compare what the header promises with what was read."""
        read: Sequence[tuple[str, Sequence[Any]]] = (
            ("tools", self.tools),
            ("messages", self.messages),
            ("compactions", self.compactions),
            ("facts", self.facts),
        )
        for key, rows in read:
            expected, found = header.get(key), len(rows)
            if expected is not None and expected != found:
                raise self.fail(
                    f"truncated or edited: the header says {expected!r} {key}, {found} are here. "
                    f"Restore the file, or correct `{key}` in line 1."
                )

    def _take(self, n: int, row: Mapping[str, Any]) -> None:
        kind = row["type"]
        if kind == "transcript":
            raise self.fail("a second transcript header; one file holds one transcript", n)
        if kind == "fact":
            self.facts.append((n, row.get("fact")))
        elif kind == "compaction":
            self.compactions.append((n, row.get("compaction")))
        elif kind == "tool":
            self.tools.append(self._tool(n, row.get("tool")))
        else:
            if "call" in row:
                self.recorded[len(self.messages)] = self._call(n, row)
            self.messages.append(self._message(n, row.get("message")))
            self.lines.append(n)

    def _message(self, n: int, message: Any) -> Message:
        wrong = wrong_with_message(message)
        if wrong:
            raise self.fail(wrong, n)
        return message  # type: ignore[no-any-return]  # checked just above

    def _check_results(self, header: Mapping[str, Any]) -> None:
        """Refuse a tool result without its call, unless the header says that there are such."""
        orphans = pair(self.messages).orphans
        declared = header.get("orphan_results", 0)
        if len(orphans) == declared:
            return
        if declared:
            raise self.fail(
                f"the header says {declared!r} orphan_results, {len(orphans)} are here. Restore "
                "the file, or correct `orphan_results` in line 1."
            )
        raise self.fail(
            f"tool result for call {self.messages[orphans[0]].get('tool_call_id')!r}, which no "
            "earlier message makes, or which has its result already. Restore the assistant message "
            "that makes the call, before this line; if it was recorded so, say "
            f'"orphan_results": {len(orphans)} in line 1.',
            self.lines[orphans[0]],
        )

    def _compaction(self, n: int, value: Any) -> Compaction:
        if not isinstance(value, dict) or set(value) != set(Compaction.__slots__):
            raise self.fail(f"`compaction` must have: {', '.join(Compaction.__slots__)}", n)
        at, kept, inserted = value["at"], value["kept_from"], value["inserted"]
        if type(at) is not int or type(kept) is not int or not 0 <= kept <= at:
            raise self.fail("`kept_from` and `at` are message indices, and 0 <= kept_from <= at", n)
        if at > len(self.messages):
            raise self.fail(f"`at` is {at}; there are {len(self.messages)} messages", n)
        if not isinstance(inserted, list) or not isinstance(value["recorded"], dict):
            raise self.fail("`inserted` must be a list of messages, `recorded` an object", n)
        messages = tuple(self._message(n, message) for message in inserted)
        return Compaction(at=at, kept_from=kept, inserted=messages, recorded=value["recorded"])

    def _call(self, n: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
        message = row.get("message")
        if not isinstance(row["call"], dict):
            raise self.fail("`call` must be an object", n)
        if not isinstance(message, dict) or message.get("role") != "assistant":
            raise self.fail("`call` belongs on an assistant message, the answer to the call", n)
        return row["call"]

    def _tool(self, n: int, tool: Any) -> Mapping[str, Any]:
        if not is_tool(tool):
            raise self.fail("`tool` must be an OpenAI tool definition with `function.name`", n)
        return tool  # type: ignore[no-any-return]  # checked just above
