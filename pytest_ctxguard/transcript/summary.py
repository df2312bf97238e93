"""What a recording holds, in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.pairing import pair
from pytest_ctxguard.transcript.parts import opaque_parts
from pytest_ctxguard.transcript.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts over one or more sessions.

    Attributes:
        format: name of the reader.
        runs: sessions.
        calls: model invocations that were answered: the recorded ones where the recording tells
            them, otherwise every assistant message.
        turns: user messages.
        tool_rounds: assistant messages with tool calls, each with the results after it.
        tool_calls: tool calls.
        tool_results: messages with a tool's result.
        unanswered_calls: tool calls without a result.
        orphan_results: results that answer no earlier call, or one answered before.
        opaque_parts: parts kept as recorded, which no model reads here.
        compactions: places where a session went on with less than its history.
        models: names of the models that answered, sorted.
        usage_rows: calls whose input tokens the provider told.
    """

    format: str
    runs: int
    calls: int
    turns: int
    tool_rounds: int
    tool_calls: int
    tool_results: int
    unanswered_calls: int
    orphan_results: int
    opaque_parts: int
    compactions: int
    models: tuple[str, ...]
    usage_rows: int


def summarise(transcript: Transcript, *, format: str) -> Summary:
    """Count one session."""
    return summarise_runs(Reading(format=format, runs=(transcript,)))


def summarise_runs(reading: Reading) -> Summary:
    """Count all sessions of a file together; a message that forks share counts once."""
    found: dict[str, set[Any]] = {name: set() for name in _things(reading.runs[0])}
    for run in reading.runs:
        for name, things in _things(run).items():
            found[name].update(things)
    answered, models = found.pop("answered_calls"), found.pop("models")
    found["unanswered_calls"] -= answered  # in another fork they have a result
    found["orphan_results"] -= found.pop("answers")
    counts = {name: len(things) for name, things in found.items()}
    return Summary(
        format=reading.format, runs=len(reading.runs), models=tuple(sorted(models)), **counts
    )


def _things(run: Transcript) -> dict[str, set[Any]]:
    """Return what is counted, each by the identity of the messages it is in."""
    messages, recorded, pairs = run.messages, run.recorded, pair(run.messages)

    def at(indices: Iterable[int]) -> set[Any]:
        return {id(messages[index]) for index in indices if index < len(messages)}

    def calls(places: Iterable[tuple[int, int]]) -> set[Any]:
        return {(id(messages[index]), position) for index, position in places}

    answers = recorded or [i for i, m in enumerate(messages) if m.get("role") == "assistant"]
    models = (call.get("model") for call in recorded.values())
    usage = [i for i, call in recorded.items() if tokens_of(call, "prompt_tokens") is not None]
    return {
        "calls": at(answers),
        "turns": at(turn.start for turn in run.turns),
        "tool_rounds": at(tool_round.start for tool_round in run.tool_rounds),
        "tool_calls": calls((*pairs.answered, *pairs.unanswered)),
        "tool_results": at(i for i, m in enumerate(messages) if m.get("role") == "tool"),
        "unanswered_calls": calls(pairs.unanswered),
        "answered_calls": calls(pairs.answered),
        "orphan_results": at(pairs.orphans),
        "answers": at(pairs.answered.values()),
        "opaque_parts": {id(part) for part in opaque_parts(messages)},
        "compactions": {(id(messages[c.at - 1]), *map(id, c.inserted)) for c in run.compactions},
        "models": {model for model in models if isinstance(model, str)},
        "usage_rows": at(usage),
    }


def tokens_of(call: Mapping[str, object], key: str) -> int | None:
    """Return a number of tokens that a recording tells of a call; ``None``: it does not."""
    value = call.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def parts_without_text(messages: Sequence[Message]) -> dict[str, int]:
    """Count the parts of content that no text counter sees, by type: images, files, opaque ones."""
    counts: dict[str, int] = {}
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            kind = None if isinstance(part, str) else part.get("type")
            if isinstance(kind, str) and kind != "text":
                counts[kind] = counts.get(kind, 0) + 1
    return counts
