"""Whether a message a policy made says only what the history says, or what it may put in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_ctxguard.checks.laws.terms import CUTS, Terms
from pytest_ctxguard.transcript.messages import Message, content_text, is_instruction, tool_calls


def squeezed(text: str) -> str:
    """Return a text without white space, which joining and cutting change."""
    return "".join(text.split())


def invented(message: Message, sources: Sequence[Message], terms: Terms) -> str:
    """Return the first thing in a message that no source says and no insert allows, or nothing.

    A text is made of pieces of its sources, cut anywhere, joined by inserts or ellipses. A system
    or developer message may quote any message; others only those of their own role.

    Args:
        message: what the policy made, or changed.
        sources: the message it came from, or the history.
        terms: what may be put in.
    """
    if terms.inserts is None:
        return ""
    role = message.get("role")
    near = sources if is_instruction(message) else [m for m in sources if m.get("role") == role]
    said = squeezed("".join(content_text(source) for source in near))
    for piece in terms.without_inserts(content_text(message)):
        if not _is_cut_from(piece, said):
            return f"the text {_short(piece)}"
    known = [part for source in sources for part in _parts(source)]
    for part in _parts(message):
        if part not in known:
            return f"a part of type {part.get('type')!r}"
    return _invented_call(message, sources, terms)


def _is_cut_from(piece: str, said: str) -> bool:
    if squeezed(piece) in said:
        return True
    return all(squeezed(part) in said for part in CUTS.split(piece))


def _invented_call(message: Message, sources: Sequence[Message], terms: Terms) -> str:
    calls = {call.get("id"): call for source in sources for call in tool_calls(source)}
    for call in tool_calls(message):
        original = calls.get(call.get("id"))
        if original is None:
            return f"a tool call with id {call.get('id')!r}"
        if call == original:
            continue
        now, before = call.get("function") or {}, original.get("function") or {}
        if now.get("name") != before.get("name"):
            return f"the name of tool call {call.get('id')!r}"
        said = squeezed("".join(_leaves(before.get("arguments"))))
        for leaf in _leaves(now.get("arguments")):
            for piece in terms.without_inserts(leaf):
                if not _is_cut_from(piece, said):
                    return f"the argument {_short(piece)} of tool call {call.get('id')!r}"
    return ""


def _leaves(arguments: Any) -> Iterator[str]:
    """Yield the texts and numbers of a call's arguments; all of the text where it is not JSON."""
    try:
        value = json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        value = arguments
    yield from _scalars(value)


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif value is not None:
        yield str(value)


def _parts(message: Message) -> list[Any]:
    """Return the parts of a message that are no text."""
    return [part for part in parts(message) if part.get("type") != "text"]


def parts(message: Message) -> list[Any]:
    """Return the parts of a message's content; none where it is one text."""
    content = message.get("content")
    return [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []


def carries(messages: Iterable[Message], original: Message) -> bool:
    """Tell whether some message says all of another: its text, its parts and its calls' ids."""
    text, wanted = squeezed(content_text(original)), _parts(original)
    ids = {call.get("id") for call in tool_calls(original)}
    listed = list(messages)
    found = {call.get("id") for message in listed for call in tool_calls(message)}
    return ids <= found and any(
        text in squeezed(content_text(message)) and all(p in _parts(message) for p in wanted)
        for message in listed
    )


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
