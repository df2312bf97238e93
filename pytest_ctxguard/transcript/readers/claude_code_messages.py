"""What the rows of one Claude Code message say, as OpenAI-format chat messages.

The blocks are Anthropic's, one or two to a row; a row may also hold all that the rows before it of
the same message held. The usage of a message is that of its last row, which has all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.errors import TranscriptError
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import Message, content_text
from pytest_ctxguard.transcript.readers.checked import name
from pytest_ctxguard.transcript.readers.claude_code_tree import Node, Placed, Row, is_summary
from pytest_ctxguard.transcript.reading import Note, count
from pytest_ctxguard.transcript.wire import anthropic
from pytest_ctxguard.transcript.wire.typed import mapping

SYNTHETIC = "<synthetic>"  # the model of what Claude Code itself says in the model's place
INTERRUPTED = "[Request interrupted by user"  # the text it leaves in the history then
IDS = {"tool_use": "id", "tool_result": "tool_use_id"}


@dataclass(frozen=True, slots=True)
class Said:
    """What one node of the tree says.

    Attributes:
        messages: in order; of a compaction, its summary.
        call: of an answer, what is known of its call.
        compacted: of an answer, the provider's own compaction before it.
        interrupts: whether it says that the user broke off what was before.
    """

    messages: tuple[Message, ...] = ()
    call: Mapping[str, Any] | None = None
    compacted: tuple[Message, ...] | None = None
    interrupts: bool = False


@dataclass(slots=True)
class Speech:
    """Reads the messages of one file, and notes what is odd about them."""

    document: Document
    passed_over: dict[str, int]
    notes: list[Note] = field(default_factory=list)

    def of(self, node: Node) -> Said:
        """Return what a node says.

        Raises:
            TranscriptError: a row has no message, or one that is not Anthropic's.
        """
        if node.kind == "compaction":
            rows = [placed for placed in node.rows if is_summary(placed.row)]
            return Said(tuple(m for placed in rows for m in self._user(placed)))
        if node.kind == "assistant":
            return self._answer(node)
        messages = self._user(node.rows[0])
        texts = [content_text(m) for m in messages if m["role"] == "user"]
        return Said(messages, interrupts=any(text.startswith(INTERRUPTED) for text in texts))

    def _user(self, placed: Placed) -> tuple[Message, ...]:
        message = self._message(placed)
        content = message.get("content")
        if isinstance(content, list):
            content = self._identified(content, placed)
        try:
            asked = anthropic.WIRE.asked({"messages": [{"role": "user", "content": content}]})
        except ValueError as error:
            raise self._fail(str(error).replace("messages[0]", "message"), placed) from error
        return tuple(_unmarked(message) for message in asked.messages)

    def _answer(self, node: Node) -> Said:
        first, last = node.rows[0], node.rows[-1]
        blocks: list[Any] = []
        body: dict[str, Any] = {}
        for placed in node.rows:
            message = self._message(placed)
            self._extend(blocks, message.get("content"), placed)
            body.update({key: value for key, value in message.items() if value is not None})
        body["content"] = blocks
        if body.get("model") == SYNTHETIC:
            body.pop("usage", None)
            what = "not the model's words: Claude Code wrote this answer in its place"
            if first.row.get("isApiErrorMessage") or first.row.get("error"):
                what += ", for a call that failed"
            self.notes.append(Note(what, first.line))
        try:
            answer = anthropic.WIRE.answer(body)
        except ValueError as error:
            raise self._fail(f"`message`: {error}", _culprit(node)) from error
        if not answer.messages:
            raise self._fail("`message` holds an error and no answer", first)
        call = {**answer.call, **_facts(first.row, last.row)}
        messages = tuple(_unmarked(message) for message in answer.messages)
        return Said(messages, call, answer.compacted)

    def _extend(self, blocks: list[Any], content: Any, placed: Placed) -> None:
        """Add the blocks of a row that the rows before it do not have."""
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            raise self._fail("`message.content` must be text or a list of blocks", placed)
        content = self._identified(content, placed)
        known = len(blocks) if blocks and content[: len(blocks)] == blocks else 0
        for block in content[known:]:
            if (
                isinstance(block, dict)
                and block in blocks
                and ("id" in block or "signature" in block)
            ):
                known += 1
            else:
                blocks.append(block)
        for _ in range(known):
            count(self.passed_over, "repeated block")

    def _identified(self, content: list[Any], placed: Placed) -> list[Any]:
        """Return blocks in which each call and result has an id, an empty one if need be."""
        found = []
        for block in content:
            key = IDS.get(str(mapping(block).get("type")))
            if key is not None and block.get(key) is None:
                self.notes.append(Note(f"a {block['type']} block without `{key}`", placed.line))
                block = {**block, key: ""}
            found.append(block)
        return found

    def _message(self, placed: Placed) -> Row:
        message = placed.row.get("message")
        if not isinstance(message, dict):
            raise self._fail(
                f"a row of type {placed.row.get('type')} needs `message`, an object", placed
            )
        role = message.get("role", placed.row.get("type"))
        if role != placed.row.get("type"):
            raise self._fail(f"`message.role` is {role!r} in a row of another type", placed)
        return message

    def _fail(self, what: str, placed: Placed) -> TranscriptError:
        place = "" if placed.index is None else f"`loglines[{placed.index}]`: "
        return self.document.fail(f"{place}{what}. Mend or remove it.", placed.line)


def _culprit(node: Node) -> Placed:
    """Return the row of an answer that is not Anthropic's, or the first."""
    for placed in node.rows:
        content = mapping(placed.row.get("message")).get("content")
        try:
            if isinstance(content, list):
                anthropic.WIRE.answer({"content": content})
        except ValueError:
            return placed
    return node.rows[0]


def _unmarked(message: Message) -> Message:
    """Return a message without the empty ids that stand for missing ones."""
    if message.get("tool_call_id") == "":
        return {key: value for key, value in message.items() if key != "tool_call_id"}
    if any(call["id"] == "" for call in message.get("tool_calls") or ()):
        calls = [
            {key: value for key, value in call.items() if key != "id" or value != ""}
            for call in message["tool_calls"]
        ]
        return {**message, "tool_calls": calls}
    return message


def _facts(first: Row, last: Row) -> dict[str, Any]:
    """Return what rows know of a call beside what the provider said."""
    broken_off = first.get("isAbortedMidStream") or last.get("isAbortedMidStream")
    return {
        "effort": name(last.get("effort")),
        "error": name(first.get("error")),
        "interrupted": True if broken_off else None,
        "request_id": name(last.get("requestId")),
        "time": name(first.get("timestamp")),
    }
