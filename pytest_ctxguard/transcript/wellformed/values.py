"""Look into messages that may be anything: a policy may return what no one expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from pytest_ctxguard.transcript.messages import Message


def get(value: Any, key: str) -> Any:
    """Return a field of an object, ``None`` of anything else."""
    # the plain types come first everywhere here: asking an abstract one is ten times slower
    return value.get(key) if isinstance(value, dict | Mapping) else None


def text_of(value: Any) -> str:
    """Return a text, "" for anything else."""
    return value if isinstance(value, str) else ""


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a list of things."""
    if value is None or isinstance(value, str | bytes):
        return False
    return isinstance(value, list | Sequence)


def calls(message: Message) -> Sequence[Any]:
    """Return the tool calls of a message, whatever they are."""
    found = message.get("tool_calls")
    return found if found is not None and is_list(found) else ()


def call_ids(message: Message) -> list[str]:
    """Return the id of each tool call of a message; "" for one without."""
    found = calls(message)
    return [text_of(get(call, "id")) for call in found] if found else []


def texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield each text in a JSON value that is not plain ASCII, with its place."""
    if isinstance(value, str):
        if not value.isascii():
            yield place, value
    elif isinstance(value, dict | Mapping):
        for key, item in value.items():
            yield from texts(item, f"{place}.{key}")
    elif is_list(value):
        for number, item in enumerate(value):
            yield from texts(item, f"{place}[{number}]")
