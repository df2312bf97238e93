"""OpenAI's Responses: ``POST /v1/responses``.

Each message becomes items of ``input``: an assistant message its ``reasoning_items``, then its
text, then a ``function_call`` for each call; a tool message a ``function_call_output``; any other
a message. Calls and outputs find each other by ``call_id``, wherever the output stands after the
call. An item's own id is not kept in chat format, so that a call or message that lost the
reasoning it refers to is not found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import common, kept, pairs, shape
from pytest_ctxguard.transcript.wellformed.calls import Limits
from pytest_ctxguard.transcript.wellformed.rule import Found, History, Provider, Rule, Tools

REFERENCE = "https://platform.openai.com/docs/api-reference/responses/create"
LIMITS = Limits(
    name=re.compile(r"[a-zA-Z0-9_-]+"), name_length=128, id_length=64, object_arguments=False
)
RULES = common.table(
    Rule(  # the text is known, the number of the item that it names is not
        "call-id-length", "https://github.com/RooCodeInc/Roo-Code/pull/10763", "2026-01-16"
    ),
    Rule(
        "duplicate-result",
        REFERENCE,
        "2026-11",
        stricter="the API may take it, but the model reads two results of one call",
    ),
    Rule(
        "empty-request",
        "https://github.com/symfony/ai/pull/2303",
        "2026-07-11",
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be "
        "provided.",
    ),
    Rule(
        "function-name",
        "https://github.com/openai/openai-dotnet/issues/441",
        "2025-05-27",
        {
            "tool-pattern": "Invalid 'tools[{number}].name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        },
        remedy="name it by the characters a-z A-Z 0-9 _ -, at most 64 of them to be safe",
    ),
    Rule("missing-content", REFERENCE, "2026-11"),
    Rule(
        "orphan-result",
        "https://github.com/continuedev/continue/issues/10092",
        "2026-02-01",
        "No tool call found for function call output with call_id {id}.",
    ),
    Rule(
        "reasoning-alone",
        "https://github.com/continuedev/continue/issues/8933",
        "2025-11-28",
        {
            "id": "Item '{id}' of type 'reasoning' was provided without its required following "
            "item.",
        },
    ),
    Rule(
        "reasoning-modified",
        REFERENCE,
        "2026-11",
        stricter="encrypted reasoning that was edited cannot be read",
    ),
    Rule(
        "unanswered-call",
        "https://github.com/symgraph/GhidrAssist/issues/78",
        "2026-03-12",
        "No tool output found for function call {ids}.",
    ),
)


def find_in_message(index: int, message: Message) -> Iterator[Found]:
    """Find what breaks the rules in a message, whatever stands around it."""
    alone = list(kept.alone(index, message))
    yield from alone or shape.content(index, message)
    yield from common.find_in_message(index, message, limits=LIMITS)


def find(messages: Sequence[Message], tools: Tools, history: History) -> Iterator[Found]:
    """Find what breaks the rules of OpenAI's Responses."""
    if not messages:
        yield Found("empty-request", None, "there is no message")
        return
    yield from pairs.repeated_ids(messages)
    yield from common.find_in_tools(tools, LIMITS)
    yield from pairs.unpaired(messages)
    if history is not None:
        yield from kept.modified_reasoning(messages, history)


OPENAI_RESPONSES = Provider("openai-responses", RULES, find_in_message, find, kept.lost)
