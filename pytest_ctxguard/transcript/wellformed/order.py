"""The order of roles: where instructions stand, who begins, who ends, and who follows whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ctxguard.transcript.messages import Message, content_text, instructions, is_instruction
from pytest_ctxguard.transcript.wellformed.places import turns
from pytest_ctxguard.transcript.wellformed.rule import Found
from pytest_ctxguard.transcript.wellformed.values import calls


def nothing_but_instructions(messages: Sequence[Message]) -> Iterator[Found]:
    """Find a request without a turn, instructions being sent apart (``empty-request``)."""
    if instructions(messages) == len(messages):
        what = "there is no message" + (" but instructions" if messages else "")
        yield Found("empty-request", None, what)


def late_instructions(messages: Sequence[Message]) -> Iterator[Found]:
    """Find instructions after the first turn has begun (``system-position``)."""
    for index, message in enumerate(messages):
        if is_instruction(message) and index > instructions(messages):
            what = f"a {message['role']} message after messages of others"
            yield Found("system-position", index, what)


def first(messages: Sequence[Message]) -> Iterator[Found]:
    """Find an assistant that begins (``first-role``); variants ``calls`` and ``text``."""
    start = instructions(messages)
    if start < len(messages) and messages[start].get("role") == "assistant":
        variant = "calls" if calls(messages[start]) else "text"
        what = "the first message after the instructions is the assistant's"
        yield Found("first-role", start, what, variant)


def last(messages: Sequence[Message], *, whitespace: bool = False) -> Iterator[Found]:
    """Find an assistant that ends with a text and no calls (``ends-with-assistant``).

    Variants are ``single`` (it is the only message) and ``several``.

    Args:
        messages: the request.
        whitespace: white space at its end is a rule of its own, ``trailing-whitespace``.
    """
    if not messages or messages[-1].get("role") != "assistant" or calls(messages[-1]):
        return
    if not messages[-1].get("content"):
        return
    index = len(messages) - 1
    text = _text(messages[-1])
    if whitespace and text != text.rstrip():
        yield Found("trailing-whitespace", index, "the last message ends in white space")
        return
    variant = "single" if index == instructions(messages) else "several"
    yield Found("ends-with-assistant", index, "the last message is the assistant's", variant)


def alternation(messages: Sequence[Message]) -> Iterator[Found]:
    """Find turns of one role that follow each other (``role-alternation``).

    Results after a user message are no matter here: they have no calls, which is a rule of its own.
    """
    before = ""
    for role, indices in turns(messages):
        results = messages[indices[0]].get("role") == "tool"
        if role == before and role in ("user", "assistant") and not results:
            what = f"two {role} messages follow each other"
            yield Found("role-alternation", indices[0], what)
        before = role


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list) and not all(isinstance(part, str | dict) for part in content):
        return ""
    return content_text(message) if isinstance(content, str | list) else ""
