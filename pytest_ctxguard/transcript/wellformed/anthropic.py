"""Anthropic's Messages: ``POST /v1/messages``.

Instructions at the start become ``system``; later ones stay where they are, with role system. The
tool messages of a round become one user message with a ``tool_result`` block each, and a user
message right after them is part of it. An assistant message becomes its ``thinking_blocks``, its
text and a ``tool_use`` block for each call; a text of "" beside calls is left out. The API itself
joins messages of one role that follow each other, so that calls of two assistant messages in a row
are one round. ``max_tokens`` and other settings are no part of what a policy returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import cache_marks, common, order, pairs, shape
from pytest_ctxguard.transcript.wellformed.calls import Limits, repeated_names
from pytest_ctxguard.transcript.wellformed.kept import lost
from pytest_ctxguard.transcript.wellformed.rule import Found, History, Provider, Rule, Tools

UNEXPECTED_RESULT = (
    "messages.{turn}.content.{block}: unexpected `tool_use_id` found in `tool_result` blocks: "
    "{id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous "
    "message."
)
EMPTY = "messages: text content blocks must be non-empty"
BLANK = "messages: text content blocks must contain non-whitespace text"
THINKING = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
MISSING_THOUGHTS = (
    "messages.{turn}.content.{block}.type: Expected `thinking` or `redacted_thinking`, but found "
    "`{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking "
    "block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
)
MODIFIED_THOUGHTS = (
    "messages.{turn}.content.{block}: `thinking` or `redacted_thinking` blocks in the latest "
    "assistant message cannot be modified. These blocks must remain as they were in the original "
    "response."
)
NO_PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user "
    "message."
)
LIMITS = Limits(
    name=re.compile(r"[a-zA-Z0-9_-]+"), name_length=128, id=re.compile(r"[a-zA-Z0-9_-]+")
)
RULES = common.table(
    Rule(
        "arguments-object",
        "https://github.com/anthropics/claude-code/issues/6696",
        "2025-08-28",
        "messages.{turn}.content.{block}.tool_use.input: Input should be a valid dictionary",
    ),
    Rule(
        "cache-mark-empty",
        "https://github.com/anthropics/claude-code/issues/55302",
        "2026-05-01",
        "messages.{turn}.content.{block}.text: cache_control cannot be set for empty text blocks",
    ),
    Rule(
        "cache-marks",
        "https://github.com/continuedev/continue/pull/6937",
        "2025-08-02",
        "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
    ),
    Rule(
        "call-id-pattern",
        "https://github.com/farion1231/cc-switch/issues/1181",
        "2026-02-28",
        "messages.{turn}.content.{block}.tool_use.id: String should match pattern "
        "'^[a-zA-Z0-9_-]+$'",
    ),
    Rule(
        "duplicate-call-id",
        "https://github.com/anthropics/claude-code/issues/20901",
        "2026-01-26",
        "messages.{turn}.content.{block}: `tool_use` ids must be unique",
    ),
    Rule(
        "duplicate-result",
        "https://github.com/braintrustdata/lingua/pull/255",
        "2026-05-22",
        {
            "round": "messages.{turn}.content.{block}: each tool_use must have a single result. "
            "Found multiple `tool_result` blocks with id: {id}",
            "loose": UNEXPECTED_RESULT,
            "extra": UNEXPECTED_RESULT,
            "other": UNEXPECTED_RESULT,
        },
    ),
    Rule(
        "duplicate-tool-name",
        "https://github.com/tailcallhq/forgecode/issues/892",
        "2025-06-03",
        "tools: Tool names must be unique.",
    ),
    Rule(
        "empty-content",
        "https://github.com/anthropics/claude-code/issues/6774",
        "2025-08-28",
        "messages.{turn}: all messages must have non-empty content except for the optional final "
        "assistant message",
    ),
    Rule(
        "empty-request",
        "https://github.com/langchain-ai/langchain/pull/31696",
        "2025-06-21",
        "messages: at least one message is required",
    ),
    Rule(
        "empty-text",
        "https://github.com/anthropics/claude-code/issues/23440",
        "2026-02-05",
        {"empty": EMPTY, "result-empty": EMPTY, "blank": BLANK, "result-blank": BLANK},
    ),
    Rule(
        "ends-with-assistant",
        "https://github.com/agenticloops-ai/agentic-ai-engineering/issues/43",
        "2026-03-31",
        NO_PREFILL,
        stricter="models from Claude 4.6 on refuse it, earlier ones go on with that text",
    ),
    Rule(
        "first-role",
        "https://github.com/lobehub/lobehub/issues/1601",
        "2024-03-16",
        'messages: first message must use the "user" role',
        stricter="refused until 2024 and by some gateways since, though the API was reported to "
        "take it from 2025 on; the model then reads an answer without its question",
    ),
    Rule(
        "function-name",
        "https://github.com/home-assistant/core/issues/147760",
        "2025-06-29",
        {
            "tool-pattern": "tools.{number}.custom.name: String should match pattern "
            "'^[a-zA-Z0-9_-]{{1,128}}$'",
            "tool-long": "tools.{number}.custom.name: String should have at most 128 characters",
        },
        remedy="name it by 1 to 128 of the characters a-z A-Z 0-9 _ -",
    ),
    Rule(
        "lone-surrogate",
        "https://github.com/anthropics/claude-code/issues/60394",
        "2026-05-19",
        {"high": "The request body is not valid JSON: no low surrogate in string"},
    ),
    Rule(
        "orphan-result",
        "https://github.com/anthropics/claude-code/issues/18947",
        "2026-01-18",
        {"loose": UNEXPECTED_RESULT, "extra": UNEXPECTED_RESULT, "other": UNEXPECTED_RESULT},
    ),
    Rule(
        "system-position",
        "https://github.com/Maol-1997/cursor-claude-connector/issues/3",
        "2025-07-17",
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
        'parameter, not "system" as an input message role.',
        stricter="models before Claude Opus 4.8 refuse role system in messages, newer ones take "
        'it only right after a user turn, and LangChain raises "Received multiple '
        'non-consecutive system messages"',
    ),
    Rule(
        "thinking-missing",
        "https://github.com/pydantic/pydantic-ai/issues/2075",
        "2025-06-25",
        MISSING_THOUGHTS,
    ),
    Rule(
        "thinking-modified",
        "https://github.com/anthropics/claude-code/issues/63474",
        "2026-05-29",
        MODIFIED_THOUGHTS,
    ),
    Rule(
        "trailing-whitespace",
        "https://github.com/crewAIInc/crewAI/pull/4430",
        "2026-02-09",
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    Rule(
        "unanswered-call",
        "https://github.com/anthropics/claude-code/issues/7929",
        "2025-09-20",
        "messages.{turn}: `tool_use` ids were found without `tool_result` blocks immediately "
        "after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the "
        "next message.",
    ),
)


def find_in_message(index: int, message: Message) -> Iterator[Found]:
    """Find what breaks the rules in a message, whatever stands around it."""
    yield from common.find_in_message(index, message, limits=LIMITS)
    yield from shape.blocks(index, message, blank=True)


def find(messages: Sequence[Message], tools: Tools, history: History) -> Iterator[Found]:
    """Find what breaks the rules of Anthropic's Messages."""
    empty = list(order.nothing_but_instructions(messages))
    if empty:
        yield from empty
        return
    yield from common.find_in_tools(tools, LIMITS)
    yield from repeated_names(tools)
    yield from cache_marks.too_many(messages, tools)
    yield from order.late_instructions(messages)
    yield from order.first(messages)
    yield from order.last(messages, whitespace=True)
    yield from pairs.repeated_ids(messages)
    yield from common.find_thoughts(messages, history)


ANTHROPIC = Provider(
    "anthropic", RULES, find_in_message, find, lost, pairs=partial(pairs.pairs, joined=True)
)
