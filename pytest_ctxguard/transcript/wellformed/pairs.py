"""Tool calls and their results: each has the other, once, in the same tool round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed.rule import Found
from pytest_ctxguard.transcript.wellformed.values import call_ids, text_of


@dataclass(slots=True)
class _Round:
    """The calls that may be answered at some point, and their answers so far.

    Attributes:
        callers: call id -> index of its message.
        answers: call id -> index of its result.
        results: how many results have come.
    """

    callers: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    results: int = 0


def pairs(messages: Sequence[Message], *, joined: bool) -> Iterator[Found]:
    """Find calls without result, results without call, and second results.

    A result answers a call by its id, in the run of results right after the call's message.

    Variants of ``unanswered-call``: ``some`` (other calls of the round have results), ``none``,
    ``end`` (none, and the request ends there); of ``orphan-result`` and ``duplicate-result``:
    ``round`` (the first result is in the same round), ``loose`` (no calls stand before it),
    ``extra`` (there are more results than calls), ``other``.

    Args:
        messages: the request.
        joined: assistant messages that follow each other are one.
    """
    current = _Round()
    ever: dict[str, int] = {}  # call id -> its latest result, in the whole request
    last = ""
    for index, message in enumerate(messages):
        role = text_of(message.get("role"))
        if role == "tool":
            call_id = text_of(message.get("tool_call_id"))
            if call_id:
                current.results += 1
                yield from _answered(index, call_id, current, ever)
                ever[call_id] = index
        else:
            if not (joined and role == last == "assistant"):
                yield from _unanswered(current, end=False)
                current = _Round()
            current.callers.update({i: index for i in call_ids(message) if i})
        last = role
    yield from _unanswered(current, end=True)


def repeated_in_message(index: int, message: Message) -> Iterator[Found]:
    """Find calls of one message that share an id (``duplicate-call-id``)."""
    return _repeated(index, call_ids(message), {})


def repeated_ids(messages: Sequence[Message]) -> Iterator[Found]:
    """Find calls that share an id, of one message or of several (``duplicate-call-id``)."""
    seen: dict[str, int] = {}
    for index, message in enumerate(messages):
        yield from _repeated(index, call_ids(message), seen)


def unpaired(messages: Sequence[Message]) -> Iterator[Found]:
    """Find what has no partner anywhere: for a provider that takes results out of order.

    A result may stand anywhere after its call, also with other messages between them.
    """
    waiting: dict[str, list[int]] = {}  # call id -> messages of its calls without a result
    answers: dict[str, int] = {}  # call id -> its latest result
    for index, message in enumerate(messages):
        call_id = text_of(message.get("tool_call_id"))
        if message.get("role") == "tool" and call_id:
            if waiting.get(call_id):
                waiting[call_id].pop(0)
            elif call_id in answers:
                yield _duplicate(index, call_id, answers[call_id], "")
            else:
                yield _orphan(index, call_id, "a tool result for {}, which no message called", "")
            answers[call_id] = index
        for called in filter(None, call_ids(message)):
            waiting.setdefault(called, []).append(index)
    for call_id, callers in waiting.items():
        if call_id not in answers:
            yield _lacking([call_id], callers[0], "")


def _repeated(index: int, ids: list[str], seen: dict[str, int]) -> Iterator[Found]:
    for call_id in dict.fromkeys(filter(None, ids)):
        here = ids.count(call_id)
        fields = {"id": call_id}
        if here > 1:
            what = f"{here} calls of one message have id {call_id!r}"
            second = ids.index(call_id, ids.index(call_id) + 1)
            yield Found("duplicate-call-id", index, what, call=second, fields=fields)
        elif call_id in seen:
            what = f"a call has id {call_id!r}, which one of message {seen[call_id]} has"
            number = ids.index(call_id)
            yield Found("duplicate-call-id", index, what, call=number, fields=fields)
        seen[call_id] = index


def _answered(index: int, call_id: str, current: _Round, ever: dict[str, int]) -> Iterator[Found]:
    if call_id in current.callers and call_id not in current.answers:
        current.answers[call_id] = index
        return
    surplus = "extra" if current.results > len(current.callers) else "other"
    variant = surplus if current.callers else "loose"
    if call_id in current.answers:
        yield _duplicate(index, call_id, current.answers[call_id], "round")
    elif call_id in ever:
        yield _duplicate(index, call_id, ever[call_id], variant)
    else:
        what = "a tool result for {}, which the assistant message before it did not call"
        yield _orphan(index, call_id, what, variant)


def _unanswered(current: _Round, *, end: bool) -> Iterator[Found]:
    variant = "some" if current.results else "end" if end else "none"
    by_caller: dict[int, list[str]] = {}
    for call_id, caller in current.callers.items():
        if call_id not in current.answers:
            by_caller.setdefault(caller, []).append(call_id)
    for caller, ids in by_caller.items():
        yield _lacking(ids, caller, variant)


def _lacking(ids: list[str], caller: int, variant: str) -> Found:
    names = ", ".join(ids)
    what = f"no result follows for {names}"
    return Found("unanswered-call", caller, what, variant, fields={"ids": names})


def _orphan(index: int, call_id: str, what: str, variant: str) -> Found:
    fields = {"id": call_id}
    return Found("orphan-result", index, what.format(call_id), variant, fields=fields)


def _duplicate(index: int, call_id: str, first: int, variant: str) -> Found:
    what = f"a second result for {call_id}; the first is message {first}"
    fields = {"id": call_id, "first": first}
    return Found("duplicate-result", index, what, variant, fields=fields)
