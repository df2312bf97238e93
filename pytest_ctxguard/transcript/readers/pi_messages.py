"""One message of a pi session, as an OpenAI-format chat message.

Source of the shapes: packages/ai/src/types.ts and packages/coding-agent/src/core/messages.ts of
badlogic/pi-mono.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.readers.checked import name, whole
from pytest_ctxguard.transcript.reading import count
from pytest_ctxguard.transcript.wire.typed import mapping

Row = Mapping[str, Any]

KNOWN = {
    "assistant": (
        *("role", "content", "api", "provider", "model", "usage", "stopReason"),
        *("timestamp", "errorMessage"),
    ),
    "user": ("role", "content", "timestamp", "customType", "display", "details"),
    "toolResult": ("role", "content", "toolCallId", "toolName", "isError", "timestamp"),
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "thinkingSignature", "redacted"),
    "toolCall": ("type", "id", "name", "arguments", "thoughtSignature"),
    "image": ("type", "data", "mimeType"),
}


@dataclass(frozen=True, slots=True)
class Said:
    """A message, and what is known of the call it answers."""

    message: Message
    call: Mapping[str, Any] | None = None


def said(document: Document, row: Row, *, line: int, passed_over: dict[str, int]) -> Said | None:
    """Return what an entry says to or for the model; ``None``: it is kept from the model.

    Raises:
        TranscriptError: what the message needs is missing, with the line.
    """
    place = _Place(document, line, passed_over)
    if row.get("type") == "branch_summary":
        summary = row.get("summary")
        return (
            Said({"role": "user", "content": place.text(summary, "summary")}) if summary else None
        )
    if row.get("type") == "custom_message":
        return Said({"role": "user", "content": place.content(row.get("content"), "content")})
    message = row.get("message")
    if not isinstance(message, dict):
        raise document.fail("an entry of type message needs `message`. Mend or remove it.", line)
    role = message.get("role")
    if role in ("user", "custom", "hookMessage"):
        place.left_out("user", message)
        return Said({"role": "user", "content": place.content(message.get("content"), "content")})
    if role in ("branchSummary", "compactionSummary"):
        return Said({"role": "user", "content": place.text(message.get("summary"), "summary")})
    if role == "bashExecution":
        return None if message.get("excludeFromContext") else place.command(message)
    if role == "toolResult":
        return place.result(message)
    if role == "assistant":
        return place.answer(row, message)
    raise document.fail(f"pi has no message of role {role!r}. Mend or remove the line.", line)


@dataclass(frozen=True, slots=True)
class _Place:
    document: Document
    line: int
    passed_over: dict[str, int]

    def text(self, value: Any, what: str) -> str:
        if not isinstance(value, str):
            raise self.document.fail(f"`{what}` must be text. Mend it.", self.line)
        return value

    def left_out(self, of: str, value: Row) -> None:
        for key in value:
            if key not in KNOWN[of]:
                count(self.passed_over, f"{of}.{key}")

    def blocks(self, value: Any, what: str) -> list[Row]:
        if not isinstance(value, list) or not all(isinstance(block, dict) for block in value):
            raise self.document.fail(
                f"`{what}` must be text or a list of blocks. Mend it.", self.line
            )
        return value

    def content(self, value: Any, what: str) -> str | list[parts.Part] | None:
        if isinstance(value, str):
            return value
        return parts.content([self.part(block) for block in self.blocks(value, what)])

    def part(self, block: Row) -> parts.Part:
        kind = block.get("type")
        if kind == "text":
            self.left_out("text", block)
            return parts.text(self.text(block.get("text"), "text"))
        if kind == "image":
            self.left_out("image", block)
            mime = self.text(block.get("mimeType"), "mimeType")
            return parts.image(parts.data_url(mime, self.text(block.get("data"), "data")))
        return parts.opaque(f"pi/{kind}", block)

    def command(self, message: Row) -> Said:
        """Return a command that the user ran, in the form in which pi sends it."""
        output = self.text(message.get("output"), "output")
        text = f"Ran `{self.text(message.get('command'), 'command')}`\n"
        text += f"```\n{output}\n```" if output else "(no output)"
        if message.get("cancelled"):
            text += "\n\n(command cancelled)"
        elif message.get("exitCode"):
            text += f"\n\nCommand exited with code {message['exitCode']}"
        if message.get("truncated") and message.get("fullOutputPath"):
            text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
        return Said({"role": "user", "content": text})

    def result(self, message: Row) -> Said:
        self.left_out("toolResult", message)
        result: dict[str, Any] = {
            "role": "tool",
            "tool_call_id": self.text(message.get("toolCallId"), "toolCallId"),
            "content": self.content(message.get("content"), "content"),
        }
        if name(message.get("toolName")):
            result["name"] = message["toolName"]
        if message.get("isError"):
            result["is_error"] = True
        return Said(result)

    def answer(self, row: Row, message: Row) -> Said:
        self.left_out("assistant", message)
        content: list[parts.Part] = []
        calls: list[dict[str, Any]] = []
        thoughts: list[str] = []
        blocks: list[dict[str, Any]] = []
        items: list[dict[str, Any]] = []
        for block in self.blocks(message.get("content"), "content"):
            if block.get("type") == "toolCall":
                calls.append(self.tool_call(block))
            elif block.get("type") == "thinking":
                self.left_out("thinking", block)
                thoughts.append(self.text(block.get("thinking"), "thinking"))
                kept, is_item = _signed(block, message.get("api"))
                if kept is not None:
                    (items if is_item else blocks).append(kept)
            else:
                content.append(self.part(block))
        answer: dict[str, Any] = {"role": "assistant", "content": parts.content(content)}
        if thoughts:
            answer["reasoning_content"] = "\n\n".join(thoughts)
        if blocks:
            answer["thinking_blocks"] = blocks
        if items:
            answer["reasoning_items"] = items
        if calls:
            answer["tool_calls"] = calls
        return Said(answer, _call(row, message))

    def tool_call(self, block: Row) -> dict[str, Any]:
        self.left_out("toolCall", block)
        function = {
            "name": self.text(block.get("name"), "name"),
            "arguments": json.dumps(block.get("arguments"), ensure_ascii=False),
        }
        call = {
            "id": self.text(block.get("id"), "id"),
            "type": "function",
            "function": function,
        }
        if block.get("thoughtSignature"):
            call["thought_signature"] = block["thoughtSignature"]
        return call


def _signed(block: Row, api: Any) -> tuple[dict[str, Any] | None, bool]:
    """Return a signed thought as its provider had it, and whether it is an OpenAI item."""
    signature = block.get("thinkingSignature")
    if not signature:
        return None, False
    if isinstance(api, str) and api.endswith("-responses"):
        try:
            item = json.loads(signature)
        except (TypeError, ValueError, RecursionError):
            item = None
        if isinstance(item, dict):
            return item, True
    if api == "anthropic-messages" and not block.get("redacted"):
        return {"type": "thinking", "thinking": block["thinking"], "signature": signature}, False
    return dict(block), False


def _call(row: Row, message: Row) -> dict[str, Any]:
    """Return what is known of a call. All zeros are no usage: it broke off before any came."""
    usage = mapping(message.get("usage"))
    numbers = {key: whole(usage.get(key)) for key in ("input", "output", "cacheRead", "cacheWrite")}
    known: dict[str, Any] = {}
    if any(numbers.values()):
        asked = [numbers[key] for key in ("input", "cacheRead", "cacheWrite")]
        known = {
            "prompt_tokens": sum(number or 0 for number in asked),
            "cached_tokens": numbers["cacheRead"],
            "cache_written_tokens": numbers["cacheWrite"],
            "completion_tokens": numbers["output"],
            "cost": mapping(usage.get("cost")).get("total"),
        }
    return {
        "model": name(message.get("model")),
        "provider": name(message.get("provider")),
        "api": name(message.get("api")),
        **known,
        "finish_reason": name(message.get("stopReason")),
        "error": name(message.get("errorMessage")),
        "time": name(row.get("timestamp")),
    }
