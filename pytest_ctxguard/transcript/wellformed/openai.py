"""OpenAI's chat completions: ``POST /v1/chat/completions``.

Requests are in this format already: nothing is converted. Roles may follow each other in any
order, instructions may stand anywhere, and a request may end in an assistant message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import common, pairs, shape
from pytest_ctxguard.transcript.wellformed.calls import Limits
from pytest_ctxguard.transcript.wellformed.kept import lost
from pytest_ctxguard.transcript.wellformed.rule import Found, History, Provider, Rule, Tools

EMPTY_ARRAY = (
    "empty array. Expected an array with minimum length 1, but got an empty array instead."
)
LOOSE = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
NOT_FOUND = (
    "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
)
EMPTY_NAME = (
    "Invalid '{place}': empty string. Expected a string with minimum length 1, but got an empty "
    "string instead."
)
LONG_NAME = (
    "Invalid '{place}': string too long. Expected a string with maximum length 64, but got a "
    "string with length {length} instead."
)
NAME_PATTERN = (
    "Invalid '{place}': string does not match pattern. Expected a string that matches the pattern "
    "'^[a-zA-Z0-9_-]+$'."
)
LIMITS = Limits(
    name=re.compile(r"[a-zA-Z0-9_-]+"), name_length=64, object_arguments=False, type_needed=True
)
RULES = common.table(
    Rule(
        "arguments-type",
        common.CHAT,
        common.CHAT_DATE,
        {
            "object": "Invalid type for '{place}': expected a string, but got an object instead.",
        },
    ),
    Rule(
        "duplicate-result",
        "https://github.com/agno-agi/agno/issues/5116",
        "2025",
        {
            "round": "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in "
            "messages[{first}] and messages[{index}].",
            "loose": LOOSE,
            "extra": NOT_FOUND,
            "other": NOT_FOUND,
        },
    ),
    Rule(
        "empty-request",
        "https://github.com/CopilotKit/CopilotKit/issues/529",
        "2024-08-11",
        f"Invalid 'messages': {EMPTY_ARRAY}",
    ),
    Rule(
        "empty-tool-calls",
        "https://github.com/openai/openai-node/pull/1341",
        "2025-02-20",
        {"array": f"Invalid '{{place}}': {EMPTY_ARRAY}"},
    ),
    Rule(
        "function-name",
        "https://github.com/brekkylab/ailoy/pull/109",
        "2025-06-09",
        {
            f"{kind}-{wrong}": text
            for kind in ("call", "tool")
            for wrong, text in (
                ("empty", EMPTY_NAME),
                ("long", LONG_NAME),
                ("pattern", NAME_PATTERN),
            )
        },
        remedy="name it by 1 to 64 of the characters a-z A-Z 0-9 _ -",
    ),
    Rule(
        "missing-call-type",
        common.CHAT,
        common.CHAT_DATE,
        "Missing required parameter: '{place}.type'.",
    ),
    Rule(
        "missing-content",
        "https://github.com/langchain-ai/langchainjs/issues/4153",
        "2024-07-25",
        {"null": "Invalid value for 'content': expected a string, got null."},
    ),
    Rule(
        "missing-tool-call-id",
        common.CHAT,
        common.CHAT_DATE,
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
    ),
    Rule(
        "orphan-result",
        "https://github.com/Haervwe/open-webui-tools/issues/12",
        "2025-03-25",
        {"loose": LOOSE, "extra": NOT_FOUND, "other": NOT_FOUND},
    ),
    Rule(
        "unanswered-call",
        "https://github.com/BloomLabsInc/genkit-plugins/issues/225",
        "2025-02-09",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
    ),
    Rule(
        "unknown-role",
        common.CHAT,
        common.CHAT_DATE,
        {
            "text": "Invalid value: '{role}'. Supported values are: 'system', 'assistant', "
            "'user', 'function', 'tool', and 'developer'.",
        },
    ),
)


def find_in_message(index: int, message: Message) -> Iterator[Found]:
    """Find what breaks the rules in a message, whatever stands around it."""
    yield from shape.content(index, message)
    yield from common.find_in_message(index, message, limits=LIMITS)
    yield from pairs.repeated_in_message(index, message)


def find(messages: Sequence[Message], tools: Tools, history: History) -> Iterator[Found]:
    """Find what breaks the rules of OpenAI's chat completions."""
    if not messages:
        yield Found("empty-request", None, "there is no message")
        return
    yield from common.find_in_tools(tools, LIMITS)


OPENAI = Provider(
    "openai", RULES, find_in_message, find, lost, pairs=partial(pairs.pairs, joined=False)
)
