"""Scripted mode: fixed answers, and faults that real providers have."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pytest_ctxguard.backend import (
    GREEDY,
    Completion,
    Message,
    Sampling,
    ToolCall,
    ToolChoice,
    Watch,
)
from pytest_ctxguard.errors import BackendError, InputError, UsageError

Answer = str | Completion | Mapping[str, Any]
Answers = Sequence[Answer] | Callable[[Sequence[Message]], Answer]
WORDS = re.compile(r"\s*\S+|\s+")
ANSWER_KEYS = ("text", "tool_calls", "finish_reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to one request instead of, or on the way to, its answer.

    Attributes:
        status: refuse it with this HTTP status.
        body: the refusal's body, text or JSON; by default the provider's own for the status.
        retry_after: seconds, sent as the ``Retry-After`` header of the refusal.
        delay: seconds to wait first.
        drop_after: close the connection after so many chunks of the stream; an answer that is
            not streamed breaks off in its middle.
    """

    status: int | None = None
    body: Any = None
    retry_after: float | None = None
    delay: float = 0.0
    drop_after: int | None = None

    def __post_init__(self) -> None:
        """Refuse what could not happen."""
        if self.status is not None and not 400 <= self.status <= 599:
            raise UsageError(f"a fault's status is 400 to 599, not {self.status}")
        if self.status is None and (self.body is not None or self.retry_after is not None):
            raise UsageError("a fault with body or retry_after needs a status")
        if self.delay < 0 or (self.drop_after is not None and self.drop_after < 0):
            raise UsageError("a fault's delay and drop_after are 0 or more")


@dataclass(slots=True)
class ScriptedAnswers:
    """A backend that gives fixed answers, in order or by a function of the messages.

    An answer is text, a ``Completion``, or an object with ``text``, ``tool_calls`` (each with
    ``name`` and ``arguments``) and ``finish_reason``. It is told word by word and not shortened
    to ``max_tokens`` or ``stop``.
    """

    answers: Answers
    identity: Mapping[str, str] = field(
        default_factory=lambda: {"model": "scripted", "numerics": "exact"}
    )
    _given: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read every answer now, so that a mistake in one is said where it was written."""
        if not callable(self.answers):
            self.answers = [read_answer(answer) for answer in self.answers]

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
        stop: Sequence[str] = (),
        sampling: Sampling = GREEDY,
        watch: Watch | None = None,
    ) -> Completion:
        """Return the next answer."""
        completion = self._next(messages)
        for word in WORDS.findall(completion.text):
            if watch is not None and not watch(word):
                break
        return completion

    def _next(self, messages: Sequence[Message]) -> Completion:
        if callable(self.answers):
            return read_answer(self.answers(messages))
        with self._lock:
            number, self._given = self._given, self._given + 1
        if number >= len(self.answers):
            raise BackendError(
                f"the script has {len(self.answers)} answers; this request needs answer "
                f"{number + 1}"
            )
        return read_answer(self.answers[number])


def read_answer(answer: Answer) -> Completion:
    """Return a scripted answer as a completion.

    Raises:
        UsageError: it is none.
    """
    if isinstance(answer, Completion):
        return answer
    if isinstance(answer, str):
        return Completion(text=answer)
    if not isinstance(answer, Mapping) or not answer or set(answer) - set(ANSWER_KEYS):
        raise UsageError(
            f"{str(answer)[:80]!r} is no scripted answer. It is text, or an object with "
            f"{', '.join(ANSWER_KEYS)}"
        )
    calls = tuple(map(_call, answer.get("tool_calls") or ()))
    reason = answer.get("finish_reason") or ("tool_calls" if calls else "stop")
    text = answer.get("text") or ""
    if reason not in ("stop", "length", "tool_calls") or not isinstance(text, str):
        raise UsageError(
            "a scripted answer has a text, and stop, length or tool_calls as finish reason; got "
            f"{str(answer)[:80]}"
        )
    return Completion(text=text, tool_calls=calls, finish_reason=reason)  # type: ignore[arg-type]  # one of the three


def read_faults(faults: Mapping[Any, Any]) -> dict[int, Fault]:
    """Return faults by the number of the request they meet, from 1.

    Raises:
        UsageError: a number or a fault is none.
    """
    read = {}
    known = [f.name for f in fields(Fault)]
    for number, fault in faults.items():
        if not str(number).isdecimal() or int(number) < 1:
            raise UsageError(f"faults are keyed by the number of a request, from 1; got {number!r}")
        if not isinstance(fault, Fault):
            if not isinstance(fault, Mapping) or not fault or set(fault) - set(known):
                raise UsageError(f"fault {number} is no object with {', '.join(known)}: {fault!r}")
            try:
                fault = Fault(**fault)
            except TypeError as error:
                raise UsageError(f"fault {number} has a value of the wrong type: {error}") from None
        read[int(number)] = fault
    return read


@dataclass(frozen=True, slots=True)
class Script:
    """A script file: the answers, or None where a model answers, and the faults."""

    answers: tuple[Completion, ...] | None
    faults: Mapping[int, Fault]


def load_script(path: Path) -> Script:
    """Read a script: a JSON object with ``answers``, ``faults`` or both.

    Raises:
        InputError: the file cannot be read or used; the message names it.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", path=path) from error
    if not isinstance(data, dict) or not data or set(data) - {"answers", "faults"}:
        raise InputError("a script is an object with `answers`, `faults` or both", path=path)
    answers, faults = data.get("answers"), data.get("faults", {})
    if not isinstance(answers, list | None) or not isinstance(faults, dict):
        raise InputError("`answers` is an array, `faults` an object keyed by request", path=path)
    try:
        return Script(
            answers=None if answers is None else tuple(map(read_answer, answers)),
            faults=read_faults(faults),
        )
    except UsageError as error:
        raise InputError(str(error), path=path) from error


def _call(call: Any) -> ToolCall:
    if isinstance(call, ToolCall):
        return call
    name = call.get("name") if isinstance(call, Mapping) else None
    if not isinstance(name, str) or set(call) - {"name", "arguments"}:
        raise UsageError(f"a scripted tool call has `name` and `arguments`; got {str(call)[:80]}")
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(name=name, arguments=text)
