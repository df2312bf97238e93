"""Which parts of a request a policy's own counter sees, found out by making them larger."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.replay.again import Again
from pytest_ctxguard.replay.calls import Counted
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.transcript.messages import (
    Message,
    content_text,
    copy_json,
    is_instruction,
    tool_calls,
)
from pytest_ctxguard.transcript.model import Transcript

PAD = "pad "  # about a token
SHARE = 16  # of the budget, that is what each message grows by; instructions and tools by half
Part = Callable[[Transcript, int], Transcript]


def unseen(case: Case) -> tuple[str, ...]:
    """Name the parts of its requests that the policy's counter does not see.

    What it counted with the ``count`` of the replay is known. A counter of its own is found out:
    the transcript is replayed with each part in turn made larger. A policy that counts what it
    sends keeps less of it then; one that does so when user and assistant messages grow, and keeps
    the very same when another part grows, does not count that part. A policy that does not react
    to user and assistant messages counts no requests, and nothing is said of it.
    """
    counted = Counted()
    for _, request in named_requests(case.replay):
        counted |= request.counted
    sent = _sent(case.replay)
    if counted.times:
        seen = {
            "instructions": bool(counted.roles & {"system", "developer"}),
            "tool results": "tool" in counted.roles,
            "tool-call arguments": counted.tool_calls,
        }
        return tuple(part for part, saw in seen.items() if part in sent and not saw)
    if case.again is None or case.replay.budget is None:
        return ()
    again = case.again
    if not _reacts(case, again, _messages):
        return ()
    return tuple(
        part for part, grow in PARTS.items() if part in sent and not _reacts(case, again, grow)
    )


def _sent(replay: Replay) -> set[str]:
    """Return which parts the requests have at all."""
    messages = [m for _, request in named_requests(replay) for m in request.messages]
    parts = {
        "instructions": any(map(is_instruction, messages)),
        "tool results": any(m.get("role") == "tool" for m in messages),
        "tool-call arguments": any(map(tool_calls, messages)),
        "tool definitions": bool(replay.transcript.tools),
    }
    return {part for part, has in parts.items() if has}


def _reacts(case: Case, again: Again, grow: Part) -> bool:
    """Tell whether the policy keeps other messages, or raises, when a part is larger."""
    replay = case.replay
    bare = dataclasses.replace(replay.transcript, facts=())
    try:
        grown = again(transcript=grow(bare, replay.budget or 0))
    except UsageError:
        raise
    except Exception:  # the policy's own: it noticed
        return True
    return _kept(grown) != _kept(replay)


def _kept(replay: Replay) -> list[list[tuple[int | None, bool]]]:
    return [[(o.index, o.edited) for o in step.request.origins] for step in replay.steps]


def _changed(transcript: Transcript, change: Callable[[Message], Message]) -> Transcript:
    return dataclasses.replace(transcript, messages=tuple(map(change, transcript.messages)))


def _grown(transcript: Transcript, roles: Collection[str], tokens: int) -> Transcript:
    pad = PAD * tokens

    def change(message: Message) -> Message:
        if message.get("role") not in roles or not content_text(message):
            return message  # a text where there was none is one more item to some frameworks
        return {**message, "content": f"{content_text(message)} {pad}"}

    return _changed(transcript, change)


def _messages(transcript: Transcript, budget: int) -> Transcript:
    return _grown(transcript, ("user", "assistant"), budget // SHARE + 1)


def _instructions(transcript: Transcript, budget: int) -> Transcript:
    return _grown(transcript, ("system", "developer"), budget // 2)


def _results(transcript: Transcript, budget: int) -> Transcript:
    return _grown(transcript, ("tool",), budget // SHARE + 1)


def _arguments(transcript: Transcript, budget: int) -> Transcript:
    pad = PAD * (budget // SHARE + 1)

    def change(message: Message) -> Message:
        calls = copy_json(list(tool_calls(message)))
        for call in calls:
            function = call.get("function") or {}
            function["arguments"] = f'{{"pad": "{pad}"}}'
        return {**message, "tool_calls": calls} if calls else message

    return _changed(transcript, change)


def _definitions(transcript: Transcript, budget: int) -> Transcript:
    pad = PAD * (budget // 2 // len(transcript.tools) + 1)

    def change(tool: Mapping[str, Any]) -> Mapping[str, Any]:
        function = tool.get("function") or {}
        return {**tool, "function": {**function, "description": pad}}

    return dataclasses.replace(transcript, tools=tuple(map(change, transcript.tools)))


PARTS: Mapping[str, Part] = {
    "instructions": _instructions,
    "tool results": _results,
    "tool-call arguments": _arguments,
    "tool definitions": _definitions,
}
