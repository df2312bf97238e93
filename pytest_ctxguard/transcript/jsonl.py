"""The transcript format: JSON Lines, version 1 (documented in docs/transcripts.md).

Every line is an object with one ``type``:

- ``transcript``: the first line, with ``version``, ``name``, ``provenance``, and how many
  ``tools``, ``messages`` and ``facts`` follow, so that a truncated file is noticed;
- ``tool``: one OpenAI tool definition under ``tool``;
- ``message``: one OpenAI chat message under ``message``, and under ``call`` what the recorder
  knew of the call it answers (assistant messages only);
- ``fact``: one planted fact; indices count messages from 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ctxguard.cache import write_atomically
from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.messages import ROLES, Message
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.planted import dump_fact, read_fact

VERSION = 1
KEYS = {
    "transcript": {"type", "version", "name", "tools", "messages", "facts", "provenance"},
    "tool": {"type", "tool"},
    "message": {"type", "message", "call"},
    "fact": {"type", "fact"},
}


def load(path: str | Path) -> Transcript:
    """Read a transcript whole.

    Raises:
        TranscriptError: the file is missing, broken, truncated or of another version; the
            message names path and line and says what to do.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise TranscriptError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TranscriptError("not UTF-8. Save the file as UTF-8.", path=path, line=line) from error
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise TranscriptError("empty; the first line must be a transcript header", path=path)
    return _Reader(path).read(lines)


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
    rows: list[dict[str, Any]] = [header]
    rows += ({"type": "tool", "tool": tool} for tool in transcript.tools)
    for index, message in enumerate(transcript.messages):
        row: dict[str, Any] = {"type": "message", "message": message}
        if index in transcript.recorded:
            row["call"] = transcript.recorded[index]
        rows.append(row)
    rows += ({"type": "fact", "fact": dump_fact(fact)} for fact in transcript.facts)
    # ASCII-only JSON carries any string, lone surrogates included, and no U+2028 breaks a line.
    text = "".join(json.dumps(row) + "\n" for row in rows)
    write_atomically(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8"))


class _Reader:
    """Reads the lines of one file; keeps the place for errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.messages: list[Message] = []
        self.tools: list[Mapping[str, Any]] = []
        self.facts: list[tuple[int, Any]] = []
        self.recorded: dict[int, Mapping[str, Any]] = {}
        self.call_ids: set[str | None] = set()

    def fail(self, what: str, line: int | None = None) -> TranscriptError:
        return TranscriptError(what, path=self.path, line=line)

    def read(self, lines: Sequence[tuple[int, str]]) -> Transcript:
        rows = [(n, self._row(n, text, last=n == lines[-1][0])) for n, text in lines]
        header = self._header(*rows[0])
        for n, row in rows[1:]:
            self._take(n, row)
        self._check_counts(header)
        if not self.messages:
            raise self.fail("has no messages; nothing could be replayed")
        facts = tuple(read_fact(fact, n, self.messages, self.fail) for n, fact in self.facts)
        seen: set[str] = set()
        for (n, _), fact in zip(self.facts, facts, strict=True):
            if fact.name in seen:
                raise self.fail(f"a second fact named {fact.name!r}; rename one", n)
            seen.add(fact.name)
        return Transcript(
            name=header["name"],
            messages=tuple(self.messages),
            tools=tuple(self.tools),
            facts=facts,
            recorded=self.recorded,
            provenance=header.get("provenance", {}),
        )

    def _row(self, n: int, text: str, *, last: bool) -> dict[str, Any]:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            hint = "The file may be truncated." if last else "Mend or remove the line."
            raise self.fail(f"not JSON ({error}). {hint}", n) from error
        if not isinstance(row, dict) or row.get("type") not in tuple(KEYS):  # may be unhashable
            raise self.fail(f"not a transcript line: `type` must be one of {', '.join(KEYS)}", n)
        unknown = sorted(set(row) - KEYS[row["type"]])
        if unknown:
            known = ", ".join(sorted(KEYS[row["type"]]))
            raise self.fail(f"unknown key {unknown[0]!r}; a {row['type']} line has: {known}", n)
        return row

    def _header(self, n: int, row: dict[str, Any]) -> dict[str, Any]:
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

    def _check_counts(self, header: dict[str, Any]) -> None:
        """Compare what the header promises with what was read."""
        read = (("tools", self.tools), ("messages", self.messages), ("facts", self.facts))
        for key, rows in read:
            expected, found = header.get(key), len(rows)
            if expected is not None and expected != found:
                raise self.fail(
                    f"truncated or edited: the header says {expected!r} {key}, {found} are here. "
                    f"Restore the file, or correct `{key}` in line 1."
                )

    def _take(self, n: int, row: dict[str, Any]) -> None:
        kind = row["type"]
        if kind == "transcript":
            raise self.fail("a second transcript header; one file holds one transcript", n)
        if kind == "fact":
            self.facts.append((n, row.get("fact")))
        elif kind == "tool":
            self.tools.append(self._tool(n, row.get("tool")))
        else:
            if "call" in row:
                self.recorded[len(self.messages)] = self._call(n, row)
            self.messages.append(self._message(n, row.get("message")))

    def _message(self, n: int, message: Any) -> Message:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise self.fail(f"`message` needs a `role`: one of {', '.join(ROLES)}", n)
        if not isinstance(message.get("content"), str | list | None):
            raise self.fail("`content` must be text, a list of parts, or null", n)
        if isinstance(message.get("content"), list) and not all(map(is_part, message["content"])):
            raise self.fail("a part of `content` must be text, or an object with a `type`", n)
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(map(is_call, calls)):
            raise self.fail(
                "`tool_calls` must be a list of objects with a `function`; an `id` is text", n
            )
        self.call_ids.update(call.get("id") for call in calls)
        if message["role"] == "tool":
            self._check_result(n, message)
        return message

    def _check_result(self, n: int, message: Message) -> None:
        """Refuse a tool result before its call: no request of this session was ever sent so."""
        if message.get("tool_call_id") not in tuple(self.call_ids):  # may be unhashable
            raise self.fail(
                f"tool result for call {message.get('tool_call_id')!r}, which no earlier message "
                "makes. Restore the assistant message that makes the call, before this line.",
                n,
            )

    def _call(self, n: int, row: dict[str, Any]) -> Mapping[str, Any]:
        message = row.get("message")
        if not isinstance(row["call"], dict):
            raise self.fail("`call` must be an object", n)
        if not isinstance(message, dict) or message.get("role") != "assistant":
            raise self.fail("`call` belongs on an assistant message, the answer to the call", n)
        return row["call"]

    def _tool(self, n: int, tool: Any) -> Mapping[str, Any]:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise self.fail("`tool` must be an OpenAI tool definition with `function.name`", n)
        return tool  # type: ignore[no-any-return]  # checked just above


def is_part(part: Any) -> bool:
    """Tell whether a value can be a part of list content."""
    return isinstance(part, str) or (
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and isinstance(part.get("text"), str | None)
    )


def is_call(call: Any) -> bool:
    """Tell whether a value can be a tool call: a function, and an id, which a result names."""
    return (
        isinstance(call, dict)
        and isinstance(call.get("id"), str | None)
        and isinstance(call.get("function"), dict)
    )
