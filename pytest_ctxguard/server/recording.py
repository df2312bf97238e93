"""Record what was asked and answered as transcripts.

A growing chat history is one session. A request belongs to the session whose last request it
extends: it begins with the very messages of that request, offers the same tools, and goes on. Its
messages then are the session's, so that the transcript holds what the client sent, with each call
noted on the answer it got. The same request once more is a retry: its answer takes the place of
the first. A request that extends no session starts another, in a file of its own.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.server.ask import Answered, Ask
from pytest_ctxguard.transcript.jsonl import dump
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript

DIGEST = 16  # hexadecimal digits


@dataclass(slots=True)
class _Session:
    """One growing history: what was last sent, its answer, and what is known of each call."""

    digests: tuple[str, ...]
    tools: str
    transcript: Transcript
    path: Path | None
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)


class Recorder:
    """Turns answered requests into transcripts; with a path, writes each at once, atomically."""

    def __init__(self, path: Path | None = None, *, provenance: Mapping[str, Any]) -> None:
        if path is not None and path.suffix != ".jsonl":
            raise UsageError(f"{path}: a recording is a .jsonl file")
        if path is not None and path.exists():
            raise UsageError(f"{path} exists; nothing recorded is written over. Name another file")
        self._path, self._provenance = path, dict(provenance)
        self._sessions: list[_Session] = []
        self._lock = threading.Lock()

    @property
    def transcripts(self) -> tuple[Transcript, ...]:
        """What was recorded so far, one transcript per session."""
        with self._lock:
            return tuple(session.transcript for session in self._sessions)

    def add(self, answered: Answered) -> None:
        """Record one request and its answer."""
        with self._lock:
            session = self._add(answered)
            if session.path is not None:
                dump(session.transcript, session.path)

    def _add(self, answered: Answered) -> _Session:
        ask = answered.ask
        digests = tuple(map(digest, ask.messages))
        tools = digest(ask.tools)
        session = self._extended(digests, tools)
        if session is None:
            path = self._next_path()
            name = path.stem if path else f"session-{len(self._sessions) + 1}"
            empty = Transcript(name=name, messages=(), tools=ask.tools)
            session = _Session(digests, tools, empty, path)
            self._sessions.append(session)
        again = session.calls.get(len(digests), {}).get("attempts", 0)
        session.calls[len(digests)] = _call(answered, digests, attempts=again + 1)
        session.digests = digests
        messages: tuple[Message, ...] = (*ask.messages, answered.message)
        session.transcript = Transcript(
            name=session.transcript.name,
            messages=messages,
            tools=ask.tools,
            recorded=_on_answers(session.calls, messages),
            provenance=self._provenance,
        )
        return session

    def _extended(self, digests: Sequence[str], tools: str) -> _Session | None:
        """Return the session a request goes on with: of several, the longest, then the latest."""
        fitting = [
            session
            for session in self._sessions
            if session.tools == tools and tuple(digests[: len(session.digests)]) == session.digests
        ]
        return max(reversed(fitting), key=lambda session: len(session.digests), default=None)

    def _next_path(self) -> Path | None:
        if self._path is None:
            return None
        number = len(self._sessions) + 1
        path = self._path
        while number > 1:
            path = self._path.with_stem(f"{self._path.stem}-{number}")
            if not path.exists():
                break
            number += 1
        return path


def digest(value: Any) -> str:
    """Return a short digest of a JSON value; the order of keys does not matter."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]


def _on_answers(
    calls: Mapping[int, dict[str, Any]], messages: Sequence[Message]
) -> dict[int, Mapping[str, Any]]:
    """Keep the calls whose answer the client kept: the format notes a call on its answer."""
    return {
        index: call
        for index, call in sorted(calls.items())
        if index < len(messages) and messages[index].get("role") == "assistant"
    }


def _call(answered: Answered, digests: Sequence[str], *, attempts: int) -> dict[str, Any]:
    ask, completion = answered.ask, answered.completion
    call = {
        "model": ask.model,
        "request": digest(digests),
        "max_tokens": ask.max_tokens,
        "finish_reason": completion.finish_reason,
        "prompt_tokens": answered.prompt_tokens,
        "cached_tokens": completion.cached_tokens,
        "completion_tokens": answered.completion_tokens,
        "attempts": attempts,
        **_asked(ask),
    }
    return {key: value for key, value in call.items() if value is not None}


def _asked(ask: Ask) -> dict[str, Any]:
    """Return what of a request is not the usual."""
    greedy = ask.sampling.temperature == 0
    return {
        "tool_choice": ask.forced or (None if ask.tool_choice == "auto" else ask.tool_choice),
        "stop": list(ask.stop) or None,
        "temperature": None if greedy else ask.sampling.temperature,
        "top_p": None if greedy else ask.sampling.top_p,
        "seed": None if greedy else ask.sampling.seed,
        "stream": ask.stream or None,
    }
