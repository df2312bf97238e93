"""Requests as they were recorded, with no policy at all: what was really sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.sent import Sent
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.tokens.recorded import offered
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Call, Transcript
from pytest_ctxguard.transcript.summary import tokens_of

SETTINGS = ("tool_choice", "thinking", "effort")
"""What a recording may tell of a call and a provider's cache may depend on."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was sent in a session that no policy was run for.

    Attributes:
        requests: in the order in which they were sent.
        provider: name of the cache rules to go by; empty: not told.
        uncut: whether the history that each request was made from is on record.
    """

    requests: tuple[Sent, ...]
    provider: str = ""
    uncut: bool = True


def recorded_calls(runs: Sequence[Transcript]) -> tuple[tuple[int, Call], ...]:
    """Return the calls of a recording, each with its run's number, in the order they were made.

    A client that edits its history begins another run in the same file. Where the recording numbers
    its exchanges, calls are in that order, and those without a number were not on record.

    Raises:
        UsageError: there is none.
    """
    calls = [(number, call) for number, run in enumerate(runs) for call in run.calls]
    numbered = [pair for pair in calls if tokens_of(pair[1].recorded, "exchange")]
    numbered.sort(key=lambda pair: tokens_of(pair[1].recorded, "exchange") or 0)
    if not calls:
        raise UsageError(
            f"{runs[0].name!r} holds no call: nothing in it was sent to a model. Name a recording "
            "with at least one message from a user."
        )
    return tuple(numbered or calls)


def recorded_requests(runs: Sequence[Transcript], *, counter: Counter) -> tuple[Sent, ...]:
    """Return what was sent at each call of a recording: compactions, tools, settings and all.

    Args:
        runs: the sessions of one file.
        counter: exact counter of requests.

    Raises:
        UsageError: there is no call.
    """
    return tuple(
        _sent(runs[number], call, session=number, counter=counter)
        for number, call in recorded_calls(runs)
    )


def _sent(run: Transcript, call: Call, *, session: int, counter: Counter) -> Sent:
    messages, tools = run.sent(call), offered(run, call.recorded.get("tools"))
    return Sent(
        messages=messages,
        tools=tools,
        answer=answer_of(run, call),
        tokens=counter.count(messages, tools=tools),
        model=str(call.recorded.get("model") or ""),
        settings={key: call.recorded[key] for key in SETTINGS if key in call.recorded},
        at=seconds(call),
        output=output_of(run, call, counter=counter),
        session=session,
        marks=_marks(call) if len(messages) == call.history else None,  # else compacted: moved
    )


def _marks(call: Call) -> tuple[int, ...] | None:
    marks = call.recorded.get("cache_marks")
    return tuple(marks) if isinstance(marks, list) else None


def answer_of(transcript: Transcript, call: Call) -> Message | None:
    """Return the message that answered a call; of one still to be answered, none."""
    answered = call.history < len(transcript.messages)
    return transcript.messages[call.history] if answered else None


def output_of(transcript: Transcript, call: Call, *, counter: Counter) -> int:
    """Return the tokens of an answer: those recorded, or its size in a request."""
    told = tokens_of(call.recorded, "completion_tokens")
    answer = answer_of(transcript, call)
    if told is not None or answer is None:
        return told or 0
    asked: Message = {"role": "user", "content": ""}
    alone = counter.count([asked])
    return max(0, counter.count([asked, answer], generation_prompt=False) - alone)


def seconds(call: Call) -> float | None:
    """Return when a call was made, in seconds since 1970; a time without zone is UTC."""
    time: Any = call.recorded.get("time")
    try:
        at = datetime.fromisoformat(time)
    except (TypeError, ValueError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
