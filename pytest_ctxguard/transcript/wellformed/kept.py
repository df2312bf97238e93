"""What a request must have kept of the history it was made from.

Signed thoughts and reasoning must come back as they were, and the request must still say what is
asked for: the last user message and, in the middle of a turn, the newest tool round.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pytest_ctxguard.transcript.messages import Message, full_text, is_user
from pytest_ctxguard.transcript.wellformed.rule import Found
from pytest_ctxguard.transcript.wellformed.values import call_ids, calls, get, is_list, text_of

MARK = re.compile(
    r"…|\.\.\.|\[[^\[\]]+\]"
    r"|\b(truncated|shortened|trimmed|omitted|elided|cleared|removed|left out|cut)\b",
    re.IGNORECASE,
)
LEAST_SHARED = 12  # characters of its beginning or end that a shortened text has still
THOUGHTS = ("thinking", "redacted_thinking")


def lost(messages: Sequence[Message], history: Sequence[Message]) -> Iterator[Found]:
    """Find what is asked for and no longer said: ``current-task``, ``current-round``."""
    task = next((message for message in reversed(history) if is_user(message)), None)
    if task is not None and not _has_task(task, messages):
        what = "the last user message of the history is not in the request, whole or shortened"
        yield Found("current-task", None, what)
    if history and history[-1].get("role") == "tool":
        yield from _newest_round(messages, history)


def modified_thoughts(messages: Sequence[Message], history: Sequence[Message]) -> Iterator[Found]:
    """Find signed thoughts that were edited (``thinking-modified``)."""
    return _modified("thinking-modified", _thoughts, messages, history)


def modified_reasoning(messages: Sequence[Message], history: Sequence[Message]) -> Iterator[Found]:
    """Find reasoning items that were edited (``reasoning-modified``)."""
    return _modified("reasoning-modified", _reasoning, messages, history)


def missing_thoughts(messages: Sequence[Message], history: Sequence[Message]) -> Iterator[Found]:
    """Find a current turn that began with thoughts and does no longer (``thinking-missing``).

    Only where the turn's first answer did have thoughts: a model that thinks when it likes may
    begin without any.
    """
    began = _first_answer(history)
    begins = _first_answer(messages)
    if began is None or begins is None or not _thoughts(history[began]):
        return
    message = messages[begins]
    if calls(message) and not _thoughts(message):
        found = "text" if message.get("content") else "tool_use"
        what = "the current turn began with thoughts, which the request has no longer"
        yield Found("thinking-missing", begins, what, part=0, fields={"found": found})


def missing_signatures(messages: Sequence[Message], history: Sequence[Message]) -> Iterator[Found]:
    """Find calls of the current turn that lost their thought signature (``signature-missing``)."""
    signed = {get(c, "id") for message in history for c in calls(message) if _signature(c)}
    start = _first_answer(messages)
    for index in range(len(messages) if start is None else start, len(messages)):
        for number, call in enumerate(calls(messages[index])):
            if text_of(get(call, "id")) in signed and not _signature(call):
                what = f"call {number} came with a thought signature and has none now"
                yield Found("signature-missing", index, what, call=number)


def alone(index: int, message: Message) -> Iterator[Found]:
    """Find reasoning with nothing said or called after it (``reasoning-alone``)."""
    items = _reasoning(message)
    if items and not message.get("content") and not calls(message):
        item_id = text_of(get(items[-1], "id"))
        variant = "id" if item_id else ""
        what = "reasoning without the message or the call that followed it"
        yield Found("reasoning-alone", index, what, variant, fields={"id": item_id})


def _has_task(task: Message, messages: Sequence[Message]) -> bool:
    if task in messages:
        return True
    text = _text(task)
    for message in messages:
        other = _text(message) if message.get("role") != "tool" else ""
        if other and ((text and text in other) or _shortened(other, text)):
            return True
    return False


def _modified(
    rule: str,
    pick: Callable[[Message], list[Any]],
    messages: Sequence[Message],
    history: Sequence[Message],
) -> Iterator[Found]:
    if not any(pick(message) for message in messages):
        return
    known = {_key(block) for message in history for block in pick(message)}
    for index, message in enumerate(messages):
        for number, block in enumerate(pick(message)):
            if _key(block) not in known:
                what = f"block {number} of its thoughts is not one the model sent"
                # thoughts stand first in a turn, before the parts of its content
                yield Found(rule, index, what, part=number - _count(message))


def _newest_round(messages: Sequence[Message], history: Sequence[Message]) -> Iterator[Found]:
    caller = next((m for m in reversed(history) if m.get("role") != "tool"), {})
    asked = set(call_ids(caller))
    results, called = _sent_round(messages, asked)
    for message in reversed(history):
        call_id = text_of(message.get("tool_call_id"))
        if message.get("role") != "tool" or call_id not in asked:
            break
        if call_id not in results or call_id not in called:
            what = f"the newest tool round is not in the request: no call and result {call_id}"
            yield Found("current-round", None, what)
            return
        index = results[call_id]
        whole, now = _text(message), _text(messages[index])
        if whole not in now and not _marked(now, whole):
            what = f"the newest result, for {call_id}, was changed without a mark"
            yield Found("current-round", index, what)


def _sent_round(messages: Sequence[Message], asked: set[str]) -> tuple[dict[str, int], set[str]]:
    """Return where the results of these calls are, and which of the calls are there."""
    results: dict[str, int] = {}
    called = set[str]()
    for index in reversed(range(len(messages))):
        message = messages[index]
        call_id = text_of(message.get("tool_call_id"))
        if call_id in asked:
            results.setdefault(call_id, index)
        called |= asked.intersection(call_ids(message))
        if called == asked:
            break
    return results, called


def _shortened(text: str, whole: str) -> bool:
    ends = (whole[:LEAST_SHARED], whole[-LEAST_SHARED:])
    shares = len(whole) > LEAST_SHARED and any(end in text for end in ends)
    return shares and _marked(text, whole)


def _marked(text: str, whole: str) -> bool:
    return len(MARK.findall(text)) > len(MARK.findall(whole))


def _text(message: Message) -> str:
    try:
        return full_text(message).strip()
    except (AttributeError, TypeError):  # not a message any provider would take
        return ""


def _first_answer(messages: Sequence[Message]) -> int | None:
    """Return the first assistant message of the current turn."""
    found = None
    for index in reversed(range(len(messages))):
        if is_user(messages[index]):
            break
        if messages[index].get("role") == "assistant":
            found = index
    return found


def _thoughts(message: Message) -> list[Any]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [
        *_listed(message, "thinking_blocks"),
        *(part for part in parts if get(part, "type") in THOUGHTS),
    ]


def _reasoning(message: Message) -> list[Any]:
    return _listed(message, "reasoning_items")


def _count(message: Message) -> int:
    return len(_listed(message, "thinking_blocks"))


def _listed(message: Message, key: str) -> list[Any]:
    value = message.get(key)
    return list(value) if is_list(value) else []


def _signature(call: Any) -> Any:
    return get(get(get(call, "extra_content"), "google"), "thought_signature")


def _key(block: Any) -> str:
    return json.dumps(block, sort_keys=True, default=repr)
