"""Amazon Bedrock's Converse: ``POST /model/…/converse``.

Instructions at the start become ``system``. The tool messages of a round become one user message
with a ``toolResult`` block each, and a user message right after them is part of it; any other
message stays one of its own, so that two user messages in a row are refused, though some clients
join them. An assistant message becomes its ``thinking_blocks`` as ``reasoningContent``, its text
and a ``toolUse`` block for each call; a text of "" beside calls is left out. ``toolConfig`` is no
part of what a policy returns. What the model itself refuses, Anthropic's above all, comes in its
own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import (
    anthropic,
    cache_marks,
    common,
    order,
    pairs,
    shape,
)
from pytest_ctxguard.transcript.wellformed.calls import Limits
from pytest_ctxguard.transcript.wellformed.kept import lost
from pytest_ctxguard.transcript.wellformed.rule import Found, History, Provider, Rule, Tools

USER_FIRST = (
    "A conversation must start with a user message. Try again with a conversation that starts with "
    "a user message."
)
EXCEEDS = (
    "The number of toolResult blocks at messages.{turn}.content exceeds the number of toolUse "
    "blocks of previous turn."
)
EXCEEDS_SOURCE = "https://github.com/Just-Curieous/Curie/issues/16"
PATTERN = (
    "failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
)
TOOL_USE = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html"
LIMITS = Limits(
    name=re.compile(r"[a-zA-Z0-9_-]+"),
    name_length=64,
    id=re.compile(r"[a-zA-Z0-9_.:-]+"),
    id_length=64,
)
RULES = common.table(
    Rule(
        "arguments-object",
        "https://github.com/vercel/ai/pull/19023",
        "2026-08-18",
        "The format of the value at messages.{turn}.content.{block}.toolUse.input is invalid.",
    ),
    Rule(
        "cache-marks",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html",
        "2026-11",
    ),
    Rule("call-id-length", TOOL_USE, "2026-11"),
    Rule("call-id-pattern", TOOL_USE, "2026-11"),
    Rule(
        "duplicate-result",
        "https://github.com/BerriAI/litellm/issues/20047",
        "2026-01-30",
        {
            "round": "The toolResult blocks at messages.{turn}.content contain duplicate Ids: {id}",
            "loose": EXCEEDS,
            "extra": EXCEEDS,
        },
    ),
    Rule(
        "empty-content",
        "https://github.com/archestra-ai/archestra/pull/4220",
        "2026-04-30",
        "The content field in the Message object at messages.{turn} is empty.",
    ),
    Rule(
        "empty-error-result",
        "https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore"
        "/issues/15",
        "2026-06-01",
        "The content field at messages.{turn}.content.{block}.toolResult cannot be empty when "
        "status value is error.",
    ),
    Rule(
        "empty-request",
        "https://github.com/elastic/kibana/pull/246393",
        "2025-12-15",
        USER_FIRST,
    ),
    Rule(
        "empty-text",
        "https://github.com/LibreChat-AI/agents/pull/501",
        "2026-09-03",
        dict.fromkeys(
            ("empty", "blank"),
            "The text field in the ContentBlock object at messages.{turn}.content.{block} is "
            "blank. Add text to the text field, and try again.",
        ),
    ),
    Rule(
        "ends-with-assistant",
        "https://github.com/NousResearch/hermes-agent/pull/101401",
        "2026-09-02",
        anthropic.NO_PREFILL,
        stricter="Claude from 4.6 on refuses it, other models may go on with that text",
    ),
    Rule("first-role", "https://github.com/elastic/kibana/pull/246393", "2025-12-15", USER_FIRST),
    Rule(
        "function-name",
        "https://github.com/openclaw/openclaw/pull/12949",
        "2026-02-09",
        {"call-pattern": PATTERN, "tool-pattern": PATTERN},
        remedy="name it by 1 to 64 of the characters a-z A-Z 0-9 _ -",
    ),
    Rule("orphan-result", EXCEEDS_SOURCE, "2025-03-07", {"loose": EXCEEDS, "extra": EXCEEDS}),
    Rule(
        "role-alternation",
        "https://github.com/microsoft/semantic-kernel/issues/10281",
        "2025-03-03",
        "A conversation must alternate between user and assistant roles. Make sure the "
        "conversation alternates between user and assistant roles and try again.",
    ),
    Rule(
        "system-position",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html",
        "2026-11",
        stricter="there is no role system in messages; clients move the text to the start, or "
        "raise",
    ),
    Rule(
        "thinking-missing",
        "https://github.com/anomalyco/opencode/issues/3077",
        "2025",
        f"The model returned the following errors: {anthropic.MISSING_THOUGHTS}",
    ),
    Rule("thinking-modified", anthropic.THINKING, "2026-11"),
    Rule(
        "unanswered-call",
        "https://github.com/genkit-ai/aws-bedrock-js-plugin/issues/664",
        "2026-07-15",
        dict.fromkeys(
            ("some", "none"),
            "Expected toolResult blocks at messages.{next}.content for the following Ids: {ids}",
        ),
    ),
)


def find_in_message(index: int, message: Message) -> Iterator[Found]:
    """Find what breaks the rules in a message, whatever stands around it."""
    yield from common.find_in_message(index, message, limits=LIMITS)
    yield from shape.blocks(index, message, blank=True)
    yield from shape.error_text(index, message)
    yield from pairs.repeated_in_message(index, message)


def find(messages: Sequence[Message], tools: Tools, history: History) -> Iterator[Found]:
    """Find what breaks the rules of Bedrock's Converse."""
    empty = list(order.nothing_but_instructions(messages))
    if empty:
        yield from empty
        return
    yield from common.find_in_tools(tools, LIMITS)
    yield from cache_marks.too_many(messages, tools)
    yield from order.late_instructions(messages)
    yield from order.first(messages)
    yield from order.last(messages)
    yield from order.alternation(messages)
    yield from common.find_thoughts(messages, history)


BEDROCK = Provider(
    "bedrock", RULES, find_in_message, find, lost, pairs=partial(pairs.pairs, joined=True)
)
