"""The shape of single messages: role, content, and text that can be encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import ROLES, Message
from pytest_ctxguard.transcript.wellformed.rule import Found
from pytest_ctxguard.transcript.wellformed.values import calls, get, is_list, text_of, texts

EXCUSES = ("tool_calls", "function_call", "refusal", "audio")  # an assistant's, for no content


def role(index: int, message: Message) -> Iterator[Found]:
    """Find a role that OpenAI's chat format does not have (``unknown-role``)."""
    given = message.get("role")
    if given not in ROLES:
        # models of 2023 still take role function
        variant = "text" if isinstance(given, str) and given != "function" else ""
        yield Found("unknown-role", index, f"role {given!r}", variant, fields={"role": given})


def content(index: int, message: Message) -> Iterator[Found]:
    """Find what OpenAI takes for no content (``missing-content``, ``content-type``)."""
    value = message.get("content")
    if isinstance(value, str) or (is_list(value) and value):
        return
    given = message.get("role")
    if value is not None:
        yield _wrong_type(index, value)
    elif not (given == "assistant" and any(message.get(key) for key in EXCUSES)):
        variant = "null" if "content" in message else ""
        yield Found("missing-content", index, f"a {given} message without content", variant)


def blocks(index: int, message: Message, *, blank: bool) -> Iterator[Found]:
    """Find a message or a block without text, for providers whose messages are made of blocks.

    A text of "" beside tool calls or thoughts becomes no block, and a result may be without text;
    a part of a list is sent as it is. Rules: ``empty-content``, ``empty-text``,
    ``cache-mark-empty``, ``content-type``.

    Args:
        index: of the message.
        message: the message.
        blank: text of nothing but white space is refused too.
    """
    value, given = message.get("content"), message.get("role")
    if value is None or value == "" or (is_list(value) and not value):
        if not _may_be_empty(message):
            yield Found("empty-content", index, f"a {given} message without content")
    elif isinstance(value, str):
        if blank and given in ("user", "assistant") and not value.strip():
            what = f"a {given} message of nothing but white space"
            yield Found("empty-text", index, what, "blank", part=0)
    elif is_list(value):
        yield from _parts(index, message, value=value, blank=blank)
    else:
        yield _wrong_type(index, value)


def error_text(index: int, message: Message) -> Iterator[Found]:
    """Find a result that reports an error and has no text (``empty-error-result``)."""
    if message.get("role") == "tool" and message.get("is_error") and not message.get("content"):
        yield Found("empty-error-result", index, "a failed result without content")


def result_id(index: int, message: Message) -> Iterator[Found]:
    """Find a tool message that names no call (``missing-tool-call-id``)."""
    if message.get("role") == "tool" and not text_of(message.get("tool_call_id")):
        yield Found("missing-tool-call-id", index, "a tool message without tool_call_id")


def encodable(index: int | None, value: Mapping[str, Any], *, place: str) -> Iterator[Found]:
    """Find half surrogate pairs (``lone-surrogate``), which no client can send as UTF-8.

    Args:
        index: of the message, ``None`` for a tool definition.
        value: the message or the definition.
        place: what it is called.
    """
    for path, text in texts(value, place):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            what = (
                f"{path} has half a surrogate pair at character {error.start} and cannot be "
                "encoded as UTF-8"
            )
            variant = "high" if text[error.start] < "\udc00" else "low"
            yield Found("lone-surrogate", index, what, variant)


def _may_be_empty(message: Message) -> bool:
    given = message.get("role")
    if given in ("tool", "system", "developer"):  # empty instructions are left out
        return True
    return given == "assistant" and bool(calls(message) or message.get("thinking_blocks"))


def _parts(index: int, message: Message, *, value: Sequence[Any], blank: bool) -> Iterator[Found]:
    given = message.get("role")
    nested = "" if given in ("user", "assistant") else "result-" if given == "tool" else "system-"
    for number, part in enumerate(value):
        text = part if isinstance(part, str) else get(part, "text")
        if not isinstance(text, str) or text.strip() or get(part, "type") not in (None, "text"):
            continue
        if text == "" and get(part, "cache_control"):
            what = f"part {number} of content is marked for the cache and has no text"
            yield Found("cache-mark-empty", index, what, part=number)
        elif text == "" or blank:
            kind = "blank" if text else "empty"
            what = f"part {number} of content is {kind} text"
            yield Found("empty-text", index, what, f"{nested}{kind}", part=number)


def _wrong_type(index: int, value: Any) -> Found:
    kind = "an empty list" if is_list(value) else f"a {type(value).__name__}"
    return Found("content-type", index, f"content is {kind}")
