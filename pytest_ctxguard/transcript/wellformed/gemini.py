"""Google's Gemini: ``…:generateContent``.

Instructions become ``systemInstruction``. An assistant message becomes a content of the model: a
text part, then a ``functionCall`` part for each call; assistant messages that follow each other
are one. The tool messages of a round become one user content with a ``functionResponse`` part
each, and a user message right after them is part of it. Calls are named by function, so that an id
may be anything; results are matched by it here all the same, for the converter does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import common, kept, order, pairs, shape
from pytest_ctxguard.transcript.wellformed.calls import Limits, repeated_names
from pytest_ctxguard.transcript.wellformed.rule import Found, History, Provider, Rule, Tools

COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
LOOSE = "Please ensure that function response turn comes immediately after a function call turn."
COUNT_SOURCE = "https://github.com/google-gemini/gemini-cli/issues/16415"
REFERENCE = "https://ai.google.dev/api/generate-content"
LIMITS = Limits(name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*"), name_length=64)
NAME = (
    "* GenerateContentRequest.tools[0].function_declarations[{number}].name: Invalid function "
    "name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
)
RULES = common.table(
    Rule("arguments-object", REFERENCE, "2026-11"),
    Rule(
        "duplicate-result",
        COUNT_SOURCE,
        "2026-01-12",
        {"round": COUNT, "extra": COUNT, "loose": LOOSE},
    ),
    Rule(
        "duplicate-tool-name",
        "https://github.com/rikkahub/rikkahub/issues/1311",
        "2026-06-12",
        "Duplicate function declaration found: {name}",
    ),
    Rule(
        "empty-content",
        "https://github.com/egoist/chatwise-releases/issues/250",
        "2025-02-18",
        "* GenerateContentRequest.contents[{turn}].parts: contents.parts must not be empty.",
    ),
    Rule(
        "empty-request",
        REFERENCE,
        "2026-11",
        "* GenerateContentRequest.contents: contents is not specified",
    ),
    Rule(
        "empty-text",
        "https://github.com/54xzh/FLIT/pull/70",
        "2026-05-19",
        {
            "empty": "* GenerateContentRequest.contents[{turn}].parts[{block}].data: required "
            "oneof field 'data' must have one initialized field",
        },
    ),
    Rule(
        "ends-with-assistant",
        "https://github.com/songquanpeng/one-api/issues/836",
        "2023-12-18",
        {
            "single": "Please ensure that single turn requests end with a user role or the role "
            "field is empty.",
            "several": "Please ensure that multiturn requests ends with a user role or a function "
            "response.",
        },
    ),
    Rule(
        "first-role",
        "https://github.com/google-gemini/gemini-cli/issues/11814",
        "2025-10-23",
        {
            "calls": "Please ensure that function call turn comes immediately after a user turn or "
            "after a function response turn.",
        },
    ),
    Rule(
        "function-name",
        "https://github.com/Finerestaurant/kicad-mcp-python/issues/2",
        "2026-01-25",
        {"tool-empty": NAME, "tool-long": NAME, "tool-pattern": NAME},
        remedy="name it by 1 to 64 of the characters a-z A-Z 0-9 _ . : -, a letter or _ first",
    ),
    Rule(
        "orphan-result",
        "https://github.com/langchain-ai/langchain/issues/27799",
        "2024",
        {"loose": LOOSE, "extra": COUNT},
    ),
    Rule(
        "signature-missing",
        "https://ai.google.dev/gemini-api/docs/thought-signatures",
        "2026-02-04",
        "Function call is missing a thought_signature in functionCall parts. This is required for "
        "tools to work correctly, and missing thought_signature may lead to degraded model "
        "performance.",
    ),
    Rule(
        "system-position",
        REFERENCE,
        "2026-11",
        stricter="there is no role system in contents; clients move the text to the start, or send "
        "it as the user's",
    ),
    Rule("unanswered-call", COUNT_SOURCE, "2026-01-12", {"some": COUNT}),
)


def find_in_message(index: int, message: Message) -> Iterator[Found]:
    """Find what breaks the rules in a message, whatever stands around it."""
    yield from common.find_in_message(index, message, limits=LIMITS)
    yield from shape.blocks(index, message, blank=False)
    yield from pairs.repeated_in_message(index, message)


def find(messages: Sequence[Message], tools: Tools, history: History) -> Iterator[Found]:
    """Find what breaks the rules of Gemini."""
    empty = list(order.nothing_but_instructions(messages))
    if empty:
        yield from empty
        return
    yield from common.find_in_tools(tools, LIMITS)
    yield from repeated_names(tools)
    yield from order.late_instructions(messages)
    yield from order.first(messages)
    yield from order.last(messages)
    if history is not None:
        yield from kept.missing_signatures(messages, history)


GEMINI = Provider(
    "gemini", RULES, find_in_message, find, kept.lost, pairs=partial(pairs.pairs, joined=True)
)
