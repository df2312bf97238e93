"""Join recorded exchanges, each a whole request with its answer, into sessions.

A request that begins with the very messages of an earlier one, and goes on with an assistant
message, extends that session. Any other starts a session of its own, so that nothing is lost where
a client cut, edited or restarted its history. Where several sessions could be meant, the one whose
answer was sent back counts, then the longest, then the latest. Cache marks may move between
requests; they do not make another message of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ctxguard.transcript.builder import Builder
from pytest_ctxguard.transcript.document import Document
from pytest_ctxguard.transcript.messages import Message, content_text, instructions, tool_calls
from pytest_ctxguard.transcript.model import Transcript
from pytest_ctxguard.transcript.reading import Note
from pytest_ctxguard.transcript.wire.wire import Answer, Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request with its answer.

    Attributes:
        asked: the request.
        answer: the response; without messages where there is none.
        line: where it stands in the file.
    """

    asked: Asked
    answer: Answer = field(default_factory=Answer)
    line: int | None = None


def join(
    document: Document, exchanges: Iterable[Exchange], **provenance: Any
) -> tuple[tuple[Transcript, ...], tuple[Note, ...]]:
    """Return the sessions of a document, in the order they began, and what is to be noted.

    What is known of a call has up to four keys more: ``exchange``, its number in the file from 1;
    ``tools``, the names that were offered, where that was not all of the session's;
    ``cache_marks``, the indices of the messages that had a mark, where they are not those that the
    last request marks; ``answer``, the message that was recorded, where the client sent back
    another. What is known of a last call without an answer is the provenance's ``pending``.

    Raises:
        TranscriptError: there is no exchange.
    """
    sessions: list[_Session] = []
    notes: list[Note] = []
    for number, exchange in enumerate(exchanges, 1):
        messages = _whole(exchange, sessions, notes)
        keys = tuple(map(_key, messages))
        session = _extended(messages, keys, exchange, sessions)
        if session is None:
            session = _Session()
            sessions.append(session)
        elif session.answer:
            changed = session.answered_by(messages)
            if changed is not None:
                notes.append(Note(f"exchange {number}: {changed}", exchange.line))
        session.take(number, messages, keys, exchange)
        if exchange.answer.refusal is not None:
            notes.append(
                Note(f"exchange {number} was refused: {exchange.answer.refusal}", exchange.line)
            )
    if not sessions:
        raise document.fail("holds no request to a model")
    many = len(sessions) > 1
    stem = document.path.stem or "transcript"
    runs = []
    for index, session in enumerate(sessions):
        builder = session.build(document, name=f"{stem}-{index}" if many else stem)
        runs.append(builder.build(**provenance, pending=session.pending))
        notes += builder.notes
    return tuple(runs), tuple(notes)


@dataclass(slots=True)
class _Session:
    """One growing history: its last request, its answer, and what is known of each call."""

    asked: tuple[Message, ...] = ()
    keys: tuple[str, ...] = ()
    answer: tuple[Message, ...] = ()
    answer_id: str | None = None
    tools: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    compacted: dict[int, tuple[Message, ...]] = field(default_factory=dict)
    lines: dict[int, int | None] = field(default_factory=dict)

    def answered_by(self, messages: Sequence[Message]) -> str | None:
        """Settle which message of the next request is the answer to the last one.

        Returns:
            What the client made of it; ``None`` where it is as it was. What is known of the call
            then has ``answer``: the message that was recorded.
        """
        at, answer = len(self.asked), self.answer[0]
        for index, message in enumerate(messages[at:], at):
            if message.get("role") != "assistant":
                break
            if _said(message) == _said(answer):
                self.calls[index] = self.calls.pop(at)
                return None if index == at else "the client put a message before the answer it got"
        self.calls[at]["answer"] = answer
        return "the client sent back an answer other than the one it got"

    def take(
        self, number: int, messages: tuple[Message, ...], keys: tuple[str, ...], exchange: Exchange
    ) -> None:
        """Go on to the next request of this session."""
        asked, answer = exchange.asked, exchange.answer
        self.asked, self.keys = messages, keys
        self.answer, self.answer_id = answer.messages, answer.id
        offered = [name(tool) for tool in asked.tools]
        self.tools.update(zip(offered, asked.tools, strict=True))
        at = len(messages)
        new = range(len(self.lines), at + len(self.answer))
        self.lines.update(dict.fromkeys(new, exchange.line))
        if answer.compacted is not None:
            self.compacted[at] = answer.compacted
        known = {"model": asked.model, **asked.settings, **answer.call, "exchange": number}
        marks = [index for index, message in enumerate(messages) if _is_marked(message)]
        self.calls[at] = {**known, "tools": offered, "cache_marks": marks}

    @property
    def pending(self) -> Mapping[str, Any] | None:
        """What is known of a last call that has no answer."""
        call = {} if self.answer else self.calls[len(self.asked)]
        aside = ("exchange", "tools", "cache_marks")
        return {k: v for k, v in call.items() if v is not None and k not in aside} or None

    def build(self, document: Document, *, name: str) -> Builder:
        """Return a builder that has the whole session."""
        builder = Builder(document, name=name)
        for tool in self.tools.values():
            builder.tool(tool)
        everything = list(self.tools)
        marked = [index for index, message in enumerate(self.asked) if _is_marked(message)]
        for index, message in enumerate((*self.asked, *self.answer)):
            call = self.calls.get(index) if message.get("role") == "assistant" else None
            if call is not None:
                usual = {"tools": everything, "cache_marks": [at for at in marked if at < index]}
                call = {k: v for k, v in call.items() if k not in usual or v != usual[k]}
            builder.add(message, line=self.lines.get(index), call=call)
            if index in self.compacted:  # by this answer, which is kept
                builder.compact(inserted=self.compacted[index], kept_from=index)
        return builder


def name(tool: Mapping[str, Any]) -> str:
    """Return the name of an OpenAI tool definition, or what identifies it instead."""
    function = tool.get("function")
    return str(function.get("name")) if isinstance(function, dict) else json.dumps(tool)


def _whole(
    exchange: Exchange, sessions: Sequence[_Session], notes: list[Note]
) -> tuple[Message, ...]:
    """Return the messages of a request, with the history that the provider kept for it."""
    asked = exchange.asked
    if asked.previous is None:
        return asked.messages
    for session in reversed(sessions):
        if session.answer_id == asked.previous:
            history = (*session.asked, *session.answer)
            lead = instructions(asked.messages)  # not kept by the provider: sent each time
            kept = history[instructions(history) :]
            return (*asked.messages[:lead], *kept, *asked.messages[lead:])
    notes.append(
        Note(
            f"a request goes on from the response {asked.previous!r}, which is not in this file: "
            "what came before it is missing",
            exchange.line,
        )
    )
    return asked.messages


def _extended(
    messages: Sequence[Message],
    keys: tuple[str, ...],
    exchange: Exchange,
    sessions: Sequence[_Session],
) -> _Session | None:
    tools = {name(tool): tool for tool in exchange.asked.tools}
    fitting = [
        session
        for session in sessions
        if keys[: len(session.keys)] == session.keys
        and _goes_on(messages, session)
        and all(
            _bare(tools.get(known, tool)) == _bare(tool) for known, tool in session.tools.items()
        )
    ]

    def fit(session: _Session) -> tuple[bool, int]:
        at = len(session.keys)
        answered = bool(session.answer) and keys[at] == _key(session.answer[0])
        return answered, at

    return max(reversed(fitting), key=fit, default=None)


def _goes_on(messages: Sequence[Message], session: _Session) -> bool:
    """Tell whether a request goes on after a session's last: it has its answer, or had none."""
    at = len(session.asked)
    if not session.answer:
        return True
    return at < len(messages) and messages[at].get("role") == "assistant"


def _key(message: Message) -> str:
    """Return what makes a message the same one when it is sent again."""
    return json.dumps(_unmarked(message), sort_keys=True)


def _unmarked(message: Message) -> dict[str, Any]:
    value = message.get("content")
    if isinstance(value, list):
        parts = [_bare(part) for part in value]
        plain = len(parts) == 1 and isinstance(parts[0], dict) and set(parts[0]) == {"type", "text"}
        value = parts[0]["text"] if plain else parts
    calls = [_bare(call) for call in tool_calls(message)]
    return {**_bare(message), "content": value, **({"tool_calls": calls} if calls else {})}


def _is_marked(message: Message) -> bool:
    """Tell whether a message, a part of it or a call in it has a cache mark."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return any(_bare(value) != value for value in (message, *parts, *tool_calls(message)))


def _bare(value: Any) -> Any:
    """Return a part, call, message or tool definition without its cache mark."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != "cache_control"}


def _said(message: Message) -> tuple[str, tuple[tuple[Any, Any], ...]]:
    """Return what a message says: its text, and its calls without their ids."""
    calls = ((call.get("function") or {}) for call in tool_calls(message))
    return content_text(message).strip(), tuple(
        (call.get("name"), _parsed(call.get("arguments"))) for call in calls
    )


def _parsed(arguments: Any) -> Any:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (TypeError, ValueError):
        return arguments
