"""Rules that every provider has, for requests are written in OpenAI's chat format first.

What breaks one cannot be converted, or would be read otherwise than it was meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import calls, kept, shape
from pytest_ctxguard.transcript.wellformed.rule import Found, History, Rule, Tools

CHAT = "https://platform.openai.com/docs/api-reference/chat/create"
CHAT_DATE = "2026-11"
# ids of rules that no provider states: why there is one all the same
STRICTER: Mapping[str, str] = {
    "arguments-json": "the API may take it, but chat templates and other providers parse it",
    "current-round": "the API takes it, but the model calls the same tool again and again",
    "current-task": "the API takes it, but the model no longer sees what it is asked",
    "duplicate-call-id": "the API may take it, but no one can tell whose result is whose",
    "lone-surrogate": "clients cannot send it as UTF-8, or the API takes it for broken JSON",
}
FORMAT = (  # what OpenAI's chat format demands, and another provider's converter stumbles over
    "arguments-type",
    "content-type",
    "empty-tool-calls",
    "missing-call-id",
    "missing-tool-call-id",
    "unknown-role",
)


def table(*rules: Rule) -> dict[str, Rule]:
    """Return a provider's rules by id: its own, and the common ones it says nothing of."""
    common = [
        *(Rule(id_, CHAT, CHAT_DATE) for id_ in FORMAT),
        *(Rule(id_, CHAT, CHAT_DATE, stricter=why) for id_, why in STRICTER.items()),
    ]
    return {rule.id: rule for rule in (*common, *rules)}


def find_in_message(index: int, message: Message, *, limits: calls.Limits) -> Iterator[Found]:
    """Find what is wrong with a message itself, whatever its content must be."""
    yield from shape.role(index, message)
    yield from calls.of_message(index, message, limits=limits)
    yield from shape.result_id(index, message)
    yield from shape.encodable(index, message, place=f"messages[{index}]")


def find_in_tools(tools: Tools, limits: calls.Limits) -> Iterator[Found]:
    """Find what is wrong with single tool definitions."""
    yield from calls.of_tools(tools, limits)
    for number, tool in enumerate(tools):
        yield from shape.encodable(None, tool, place=f"tools[{number}]")


def find_thoughts(messages: Sequence[Message], history: History) -> Iterator[Found]:
    """Find thoughts that must come back and do not, or come back edited."""
    if history is not None:
        yield from kept.modified_thoughts(messages, history)
        yield from kept.missing_thoughts(messages, history)
