"""What to do about each rule, whoever the provider is."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_ctxguard.transcript.messages import ROLES

WHOLE_ROUND = "keep a call and all its results together, or drop them together"

REMEDIES: Mapping[str, str] = {
    "arguments-json": "do not cut inside arguments; replace them whole, by valid JSON",
    "arguments-object": 'arguments is the JSON text of an object; an empty one is "{}"',
    "arguments-type": "arguments is JSON text: json.dumps(…)",
    "cache-mark-empty": "mark a block that has text, or drop the empty one",
    "cache-marks": "take marks off older blocks before new ones are set",
    "call-id-length": "shorten the id, of the call and of its result alike",
    "call-id-pattern": "replace other characters in the id, of the call and of its result alike",
    "content-type": "content is a string or a list of parts",
    "current-round": "keep the newest tool round whole; shorten a result only with a mark in it",
    "current-task": "keep the last user message, or a shortened one with a mark in it",
    "duplicate-call-id": "give each call an id of its own, and its result the same",
    "duplicate-result": "keep one result for each call",
    "duplicate-tool-name": "give each tool a name of its own",
    "empty-content": "give it text, or drop it",
    "empty-error-result": "say what failed; a short text is enough",
    "empty-request": "keep at least the current user message",
    "empty-text": "drop the part, or clear it to a short visible note",
    "empty-tool-calls": "leave the key out of a message without tool calls",
    "ends-with-assistant": "let the request end in a user message or a tool result",
    "first-role": "keep the user message that the first kept answer belongs to",
    "lone-surrogate": 'cut text between characters; mend it by text.encode("utf-8", "replace")',
    "missing-call-id": "send the call as the model made it",
    "missing-call-type": 'add "type": "function"',
    "missing-content": (
        "give it text, or drop it; only an assistant message with tool calls may be without"
    ),
    "missing-tool-call-id": "give it the id of the call it answers",
    "orphan-result": WHOLE_ROUND,
    "reasoning-alone": "keep reasoning with what followed it, or drop both",
    "reasoning-modified": "send reasoning items back unchanged, or not at all",
    "role-alternation": "join messages of one role that follow each other",
    "signature-missing": "send calls back with the thought signature they came with",
    "system-position": "put instructions first, or say them in a user message",
    "thinking-missing": (
        "keep the first answer of the current turn, with its thoughts, as long as any later one"
    ),
    "thinking-modified": "send thoughts back unchanged, or drop a block whole",
    "trailing-whitespace": "strip the end of the last message",
    "unanswered-call": WHOLE_ROUND,
    "unknown-role": f"use one of {', '.join(ROLES)}",
}
