"""LangChain's messages: ``messages_to_dict``, ``dumpd`` and ``model_dump``, as a list or rows.

A ``remove`` message takes an earlier one out of LangGraph's state: from there on the session goes
on with less, which is a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import Message, is_instruction
from pytest_ctxguard.transcript.readers.checked import name, objects
from pytest_ctxguard.transcript.readers.langchain_message import Data, call_facts, chat_message
from pytest_ctxguard.transcript.reading import Reader, Reading
from pytest_ctxguard.transcript.wire.typed import mapping

KINDS = ("human", "ai", "system", "tool", "function", "chat", "remove")
ALL = "__remove_all__"  # LangGraph's id for every message


@dataclass(slots=True)
class _State:
    """The messages as LangGraph has them: those that were not removed, with their ids."""

    messages: list[tuple[str | None, Message]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def remove(self, message_id: str) -> bool:
        """Take a message out; tell whether it was there."""
        left = [] if message_id == ALL else [m for m in self.messages if m[0] != message_id]
        found = len(left) < len(self.messages) or message_id == ALL
        if found:
            self.removed.append(message_id)
        self.messages = left
        return found


def recognises(document: Document) -> bool:
    """Tell by the first message."""
    items = _listed(document.value)
    if items is None:
        items = document.head
    return bool(items) and _unwrapped(items[0]) is not None


def read(document: Document) -> Reading:
    """Read the messages of one session."""
    builder, state = Builder(document), _State()
    passed_over: dict[str, int] = {}
    if isinstance(document.value, dict) and _unwrapped(document.value) is None:
        passed_over |= dict.fromkeys(set(document.value) - {"messages"}, 1)
    for where, line, item in _items(document):
        unwrapped = _unwrapped(item)
        if unwrapped is None:
            raise document.fail(
                f"`{where}` is no LangChain message: it needs a `type` ({', '.join(KINDS)}) with "
                "its `data`, or `lc` with `id` and `kwargs`. Mend or remove it.",
                line,
            )
        kind, data = unwrapped
        if kind == "remove":
            _remove(document, data, state, builder, where=where, line=line)
            continue
        try:
            message = chat_message(kind, data, passed_over)
        except ValueError as error:
            raise document.fail(f"`{where}`: {error}", line) from error
        _compact(state, builder)
        facts = call_facts(data, passed_over) if message["role"] == "assistant" else None
        builder.add(message, where=where, line=line, call=facts)
        state.messages.append((name(data.get("id")), message))
    _compact(state, builder)
    transcript = builder.build()
    return Reading(
        format=READER.name,
        runs=(transcript,),
        passed_over=passed_over,
        notes=tuple(builder.notes),
    )


READER = Reader(name="langchain", recognises=recognises, read=read)


def _listed(value: Any) -> Sequence[Any] | None:
    """Return the list of messages in a JSON value: itself, or a state's ``messages``."""
    if isinstance(value, dict) and _unwrapped(value) is None:
        value = value.get("messages")
    return value if isinstance(value, list) else None


def _items(document: Document) -> list[tuple[str, int | None, Data]]:
    items = _listed(document.value)
    if items is None:
        return [("message", line, row) for line, row in document.rows]
    where = "messages"
    listed = objects(document, items, where=where)
    return [(f"{where}[{index}]", None, item) for index, item in enumerate(listed)]


def _unwrapped(item: Any) -> tuple[str, Data] | None:
    """Return kind and fields of a message in any of the three forms."""
    item = mapping(item)
    if item.get("lc") == 1 and isinstance(item.get("kwargs"), dict):
        names = item.get("id")
        last = names[-1] if isinstance(names, list) and names else None
        data = item["kwargs"]
        kind = _kind(data.get("type")) or _kind(last)
    elif isinstance(item.get("data"), dict):
        data = item["data"]
        kind = _kind(item.get("type"))
    else:  # ``model_dump``: its two marks tell it from other formats that have a type
        data = item if "additional_kwargs" in item or "response_metadata" in item else {}
        kind = _kind(data.get("type"))
    return None if kind is None else (kind, data)


def _kind(value: Any) -> str | None:
    """Return the kind that a type or a class name means: ``ai`` for ``AIMessageChunk``."""
    if not isinstance(value, str):
        return None
    short = value.removesuffix("Chunk").removesuffix("Message").lower()
    return short if short in KINDS else None


def _remove(
    document: Document,
    data: Mapping[str, Any],
    state: _State,
    builder: Builder,
    *,
    where: str,
    line: int | None,
) -> None:
    message_id = name(data.get("id"))
    if message_id is None:
        raise document.fail(f"`{where}` removes a message and has no `id`. Mend it.", line)
    if not state.remove(message_id):
        builder.note(f"`{where}` removes the message {message_id!r}, which is not there", line=line)


def _compact(state: _State, builder: Builder) -> None:
    """Note, before the next message, that earlier ones are gone."""
    if not state.removed:
        return
    kept = [message for _, message in state.messages]
    lead = next((i for i, m in enumerate(kept) if not is_instruction(m)), len(kept))
    builder.compact(inserted=kept[lead:], trigger="remove", removed=list(state.removed))
    state.removed.clear()
