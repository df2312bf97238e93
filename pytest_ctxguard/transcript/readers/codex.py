"""Rollouts of the Codex CLI: JSON Lines under ``~/.codex/sessions``, with an envelope or without.

The messages are those of the ``response_item`` rows, which are the items of OpenAI's Responses API;
``event_msg`` rows show the same again and are passed over, but for what they alone know: usage and
broken-off turns. The definitions of Codex's own tools are not in these files.

Source of the format: codex-rs/protocol/src/{protocol,models}.rs of openai/codex.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import Message, content_text, instructions, is_instruction
from pytest_ctxguard.transcript.readers.checked import name
from pytest_ctxguard.transcript.readers.codex_usage import Usage
from pytest_ctxguard.transcript.reading import Reader, Reading, count
from pytest_ctxguard.transcript.wire import openai_items
from pytest_ctxguard.transcript.wire.openai_values import definitions
from pytest_ctxguard.transcript.wire.typed import mapping

Row = Mapping[str, Any]
Item = dict[str, Any]

ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
BOOKKEEPING = ("internal_chat_message_metadata_passthrough", "metadata")  # of an item


def recognises(document: Document) -> bool:
    """Tell by an envelope, or by the header or a marker of the older files."""
    return any(_is_envelope(row) or _is_marker(row) for row in document.head) or bool(
        document.head and _is_header(document.head[0])
    )


def read(document: Document) -> Reading:
    """Read the session."""
    file = _File(document, Builder(document), Usage.of(row for _, row in document.rows))
    file.begin(document.rows)
    for line, row in document.rows:
        file.take(line, row)
    file.end()
    builder, meta = file.builder, file.meta
    run = builder.build(
        session=name(meta.get("id")),
        time=name(meta.get("timestamp")),
        version=name(meta.get("cli_version")),
        provider=name(meta.get("model_provider")),
        parent=name(meta.get("forked_from_id")) or name(meta.get("parent_thread_id")),
    )
    return Reading(
        format=READER.name, runs=(run,), passed_over=file.passed_over, notes=tuple(builder.notes)
    )


READER = Reader(name="codex", recognises=recognises, read=read)


def _is_envelope(row: Row) -> bool:
    return row.get("type") in ENVELOPES and "payload" in row


def _is_header(row: Row) -> bool:
    return "type" not in row and {"id", "timestamp", "instructions"} <= set(row)


def _is_marker(row: Row) -> bool:
    return row.get("record_type") == "state"


@dataclass(slots=True)
class _File:
    document: Document
    builder: Builder
    usage: Usage
    bare: bool = False  # whether the items stand in the file without an envelope
    meta: Row = field(default_factory=dict)
    passed_over: dict[str, int] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    answer: list[tuple[int, Item]] = field(default_factory=list)  # of the answer being read
    since: str | None = None  # time of its first item
    last: int | None = None  # index of the last assistant message

    def begin(self, rows: Sequence[tuple[int, Row]]) -> None:
        """Read the header: whose session it is, what instructed the model, and further tools."""
        self.bare = not any(_is_envelope(row) for _, row in rows)
        for line, row in rows:
            kind = row.get("type")
            meta = row.get("payload") if kind == "session_meta" else row
            if (kind == "session_meta" or _is_header(row)) and isinstance(meta, dict):
                self.meta = meta
                self._instruct(rows, line)
                self._offer(meta.get("dynamic_tools"), line)
                return
        self.builder.note("has no session_meta: the begin of the session may be missing")

    def _instruct(self, rows: Sequence[tuple[int, Row]], line: int) -> None:
        base = mapping(self.meta.get("base_instructions")).get("text")
        older = name(self.meta.get("instructions"))
        if older is not None and any(_says(row, older) for _, row in rows):
            count(self.passed_over, "session_meta.instructions (also in a message)")
            older = None
        for text in (name(base), older):
            if text is not None:
                self.builder.add({"role": "system", "content": text}, line=line)

    def _offer(self, tools: Any, line: int) -> None:
        for tool in _flat(tools if isinstance(tools, list) else [tools]):
            if tool.get("deferLoading"):
                count(self.passed_over, "dynamic_tools (loaded on demand)")
                continue
            known = {
                "name": tool.get("name"),
                "description": tool.get("description"),
                "parameters": tool.get("inputSchema"),
            }
            try:
                found = definitions([{k: v for k, v in known.items() if v is not None}])
            except ValueError as error:
                raise self._fail(f"in `dynamic_tools`: {error}", line) from error
            self.builder.tool(found[0], line=line)

    def take(self, line: int, row: Row) -> None:
        """Read the next row."""
        kind, payload = row.get("type"), row.get("payload")
        if self.meta and (row is self.meta or payload is self.meta):
            return
        if self.bare and (kind is not None or "role" in row):
            kind, payload = "response_item", row
        if kind not in ENVELOPES:
            count(self.passed_over, kind or row.get("record_type") or "row without a type")
            return
        if not isinstance(payload, dict):
            raise self._fail(f"`payload` of a row of type {kind} must be an object", line)
        time = name(row.get("timestamp"))
        if kind == "response_item":
            self._item(payload, line, time)
        elif kind == "event_msg":
            self._event(payload, line)
        elif kind == "compacted":
            self._compacted(payload, line, time)
        else:
            if kind == "turn_context":
                effort = name(payload.get("effort"))
                self.context = {"model": name(payload.get("model")), "effort": effort}
            elif kind == "session_meta":
                what = "a further session_meta, of the session whose history was copied"
                self.builder.note(f"{what}: all is read as one session", line=line)
            count(self.passed_over, kind)

    def _item(self, payload: Item, line: int, time: str | None) -> None:
        item = self._plain(payload)
        if item is None:
            return
        if _is_answer(item):
            self.since = self.since if self.answer else time
            self.answer.append((line, item))
            return
        self.close()
        for message in self._messages([(line, item)]):
            self.builder.add(message, line=line)
        if item.get("role") == "user":
            self._forget()

    def end(self) -> None:
        """End the session."""
        self.close()
        self._forget()

    def _forget(self) -> None:
        """Let go of usage whose call left no answer."""
        if self.usage.forget():
            count(self.passed_over, "event_msg/token_count")

    def close(self) -> None:
        """End the answer being read."""
        if not self.answer:
            return
        items, self.answer = self.answer, []
        for message in self._messages(items):
            call = {**self.context, **self.usage.before(), "time": self.since}
            self.last = self.builder.add(message, line=items[0][0], call=call)

    def _event(self, payload: Row, line: int) -> None:
        kind = payload.get("type")
        if kind == "token_count" and self.usage.is_new(payload):
            self.close()
            known = self.usage.after(payload)
            if known is None:
                return
            if known and self.last is not None:
                self.builder.note_call(self.last, known)
                return
        elif kind == "turn_aborted":
            self.close()
            if self.last is not None:
                self.builder.note_call(self.last, {"interrupted": True})
        elif kind == "error":
            self.builder.note(f"a call failed: {payload.get('message')}", line=line)
        elif kind == "thread_rolled_back":
            what = "turns were taken back here: later calls were sent less than this run has"
            self.builder.note(f"{payload.get('num_turns')} {what}", line=line)
        count(self.passed_over, f"event_msg/{kind}")

    def _compacted(self, payload: Row, line: int, time: str | None) -> None:
        self.close()
        self._forget()
        history = payload.get("replacement_history")
        if history is None:
            summary = payload.get("message")
            if not isinstance(summary, str):
                raise self._fail("`message` of a compaction must be text", line)
            inserted: tuple[Message, ...] = ({"role": "user", "content": summary},)
            self.builder.note(
                "an older compaction: its summary is in the file, but not what else was kept",
                line=line,
            )
        else:
            if not isinstance(history, list) or not all(isinstance(i, dict) for i in history):
                raise self._fail("`replacement_history` must be a list of items", line)
            items = [(line, item) for item in map(self._plain, history) if item is not None]
            lead = self.builder.messages[: instructions(self.builder.messages)]
            inserted = tuple(
                message
                for message in self._messages(items)
                if not (is_instruction(message) and message in lead)
            )
        self.builder.compact(inserted=inserted, time=time)

    def _plain(self, item: Item) -> Item | None:
        """Return an item as the Responses API has it; ``None``: it is no part of a request."""
        if item.get("type") == "ghost_snapshot":
            count(self.passed_over, "response_item/ghost_snapshot")
            return None
        for key in BOOKKEEPING:
            if key in item:
                count(self.passed_over, f"response_item.{key}")
        item = {key: value for key, value in item.items() if key not in BOOKKEEPING}
        if item.get("type") == "agent_message":  # what another agent sent to this one
            item.update(type="message", role="user")
        if item.get("type") == "local_shell_call" and item.get("call_id") is None:
            item["call_id"] = item.get("id")
        return item

    def _messages(self, items: Sequence[tuple[int, Item]]) -> tuple[Message, ...]:
        try:
            return openai_items.messages([item for _, item in items], "payload")
        except ValueError as error:
            for line, item in items:
                self._one(item, line)
            raise self._fail(str(error), items[0][0]) from error

    def _one(self, item: Item, line: int) -> None:
        """Fail with the line of an item that is none of the Responses API."""
        try:
            openai_items.messages([item], "payload")
        except ValueError as error:
            raise self._fail(str(error).replace("payload[0]", "payload"), line) from error

    def _fail(self, what: str, line: int | None) -> TranscriptError:
        return self.document.fail(f"{what}. Mend or remove the line.", line)


def _is_answer(item: Item) -> bool:
    """Tell whether the model said an item."""
    kind = item.get("type")
    if kind == "message" or (kind is None and "role" in item):
        return item.get("role") == "assistant"
    served = kind in openai_items.SERVED and item.get("call_id") is None
    return served or kind not in (*openai_items.RESULTS, *openai_items.CONTROLS)


def _says(row: Row, text: str) -> bool:
    """Tell whether a row is a user message with a text."""
    item = mapping(row.get("payload", row))
    content = item.get("content")
    if item.get("role") != "user" or not isinstance(content, str | list):
        return False
    if isinstance(content, list):
        content = [part for part in content if isinstance(mapping(part).get("text"), str)]
    return text in content_text({"content": content})


def _flat(tools: Sequence[Any]) -> list[Row]:
    """Return the functions of a list of tools and namespaces of tools."""
    found: list[Row] = []
    for tool in tools:
        inner = mapping(tool).get("tools")
        found += _flat(inner) if isinstance(inner, list) else [tool] if mapping(tool) else []
    return found
