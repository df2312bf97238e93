"""What a recording holds, in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_ctxguard.transcript.messages import Message, tool_calls
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
        calls: model invocations: the recorded ones where the recording tells them, otherwise one
            before each assistant message; and one more where the last message awaits an answer.
        turns: real user messages.
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


SUMMED = (
    "calls",
    "turns",
    "tool_rounds",
    "tool_calls",
    "tool_results",
    "unanswered_calls",
    "orphan_results",
    "opaque_parts",
    "compactions",
    "usage_rows",
)


def summarise(transcript: Transcript, *, format: str) -> Summary:
    """Count one session."""
    messages, recorded = transcript.messages, transcript.recorded
    pairs = pair(messages)
    awaited = bool(messages) and messages[-1].get("role") in ("user", "tool")
    models = (call.get("model") for call in recorded.values())
    return Summary(
        format=format,
        runs=1,
        calls=len(recorded) + awaited if recorded else len(transcript.calls),
        turns=len(transcript.turns),
        tool_rounds=len(transcript.tool_rounds),
        tool_calls=sum(len(tool_calls(message)) for message in messages),
        tool_results=sum(message.get("role") == "tool" for message in messages),
        unanswered_calls=len(pairs.unanswered),
        orphan_results=len(pairs.orphans),
        opaque_parts=sum(1 for _ in opaque_parts(messages)),
        compactions=len(transcript.compactions),
        models=tuple(sorted({model for model in models if isinstance(model, str)})),
        usage_rows=sum(tokens_of(call, "prompt_tokens") is not None for call in recorded.values()),
    )


def summarise_runs(reading: Reading) -> Summary:
    """Count all sessions of a file together."""
    each = [summarise(run, format=reading.format) for run in reading.runs]
    totals = {name: sum(getattr(summary, name) for summary in each) for name in SUMMED}
    models = sorted({model for summary in each for model in summary.models})
    return Summary(format=reading.format, runs=len(each), models=tuple(models), **totals)


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
