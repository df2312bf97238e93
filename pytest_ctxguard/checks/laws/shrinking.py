"""Make a history that breaks a law as small as it gets, and keep it breaking that law."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pytest_ctxguard.transcript.messages import Message, is_instruction, tool_calls, tool_rounds
from pytest_ctxguard.transcript.wellformed import Provider

History = tuple[Message, ...]
Found = TypeVar("Found")

ROUNDS = 80  # how often a smaller history is looked for


def shrink(
    history: History,
    found: Found,
    *,
    breaks: Callable[[Sequence[History]], tuple[int, Found] | None],
    rules: Provider,
    rounds: int = ROUNDS,
) -> tuple[History, Found]:
    """Return a smaller history that breaks the same law, and how.

    First whole stretches of messages and tool rounds go, then single calls of a round, then the
    texts become short. Nothing is tried that breaks a provider's rule the history keeps.

    Args:
        history: one that breaks the law.
        found: what is known of it.
        breaks: says which of some histories is the first to break the law, and how.
        rules: of the provider.
        rounds: how often a smaller history is looked for.
    """
    allowed = {problem.rule for problem in rules(history)}
    for _ in range(rounds):
        candidates = [
            smaller
            for smaller in _smaller(history)
            if smaller
            and smaller[-1].get("role") in ("user", "tool", history[-1].get("role"))
            and _first_role(smaller) == _first_role(history)
            and {problem.rule for problem in rules(smaller)} <= allowed
        ]
        hit = breaks(candidates)
        if hit is None:
            break
        place, found = hit
        history = candidates[place]
    return history, found


def _first_role(history: History) -> Any:
    """Return the role of the first message that is no instruction."""
    return next((m.get("role") for m in history if not is_instruction(m)), None)


def _smaller(history: History) -> Iterator[History]:
    units = _units(history)
    size = len(units)
    while size > 1:
        size = (size + 1) // 2
        for start in range(0, len(units), size):
            gone = {i for unit in units[start : start + size] for i in unit}
            yield tuple(m for i, m in enumerate(history) if i not in gone)
    yield from _fewer_calls(history)
    plain = tuple(_plain(message) for message in history)
    if plain != history:
        yield plain
    for place, message in enumerate(history):
        for simpler in _simpler(message):
            yield (*history[:place], simpler, *history[place + 1 :])


def _units(history: History) -> list[range]:
    """Return what is left out as a whole: tool rounds, and each other message."""
    rounds = {each.start: each for each in tool_rounds(history)}
    units, place = [], 0
    while place < len(history):
        unit = rounds.get(place, range(place, place + 1))
        units.append(unit)
        place = unit.stop
    return units


def _fewer_calls(history: History) -> Iterator[History]:
    """Yield the history without one of several parallel calls and its results."""
    for each in tool_rounds(history):
        message = history[each.start]
        calls = list(tool_calls(message))
        if len(calls) < 2:
            continue
        for gone in calls:
            kept = {**message, "tool_calls": [call for call in calls if call is not gone]}
            results = [
                m
                for m in history[each.start + 1 : each.stop]
                if m.get("tool_call_id") != gone["id"]
            ]
            yield (*history[: each.start], kept, *results, *history[each.stop :])


def _simpler(message: Message) -> Iterator[Message]:
    plain = _plain(message)
    if plain != message:
        yield plain
    content = message.get("content")
    if isinstance(content, str) and len(content) > 1:
        for size in (len(content) // 8, len(content) // 2, len(content) - 1):
            if 0 < size < len(content):
                yield {**message, "content": _letter(message) * size}
                yield {**message, "content": content[:size]}
    elif isinstance(content, list) and len(content) > 1:
        for place in range(len(content)):
            yield {**message, "content": [*content[:place], *content[place + 1 :]]}


def _letter(message: Message) -> str:
    """Return another letter for each role, so that no text is found in a message of another."""
    return str(message.get("role", "x"))[0]


def _plain(message: Message) -> Message:
    """Return a message with the shortest content, and calls without arguments."""
    plain: dict[str, Any] = dict(message)
    if message.get("content"):
        plain["content"] = _letter(message)
    elif tool_calls(message):
        plain["content"] = None
    if tool_calls(message):
        plain["tool_calls"] = [
            {**call, "function": {**call.get("function", {}), "name": "f", "arguments": "{}"}}
            for call in tool_calls(message)
        ]
    return plain
