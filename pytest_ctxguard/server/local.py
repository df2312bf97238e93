"""One backend for several processes of one user: each asks it over a socket of the file system.

Not the chat endpoint: requests and answers cross as the backend protocol has them, JSON in one
message each, so that an answer is the same as in process, to the last field. The one exception is
``watch``, which is told a text whole.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from pytest_ctxguard.backend import (
    GREEDY,
    Backend,
    Completion,
    Message,
    Sampling,
    ToolChoice,
    Watch,
    complete_many,
    completion_data,
    fingerprint,
    read_completion,
)
from pytest_ctxguard.errors import BackendError, ModelError, ModelLost, PromptTooLong


@dataclass(frozen=True, slots=True)
class Place:
    """Where a served backend is reached.

    Attributes:
        address: of the socket.
        key: what a client must know, hexadecimal.
        process: id of the process that serves.
    """

    address: str
    key: str
    process: int


class LocalServer:
    """Answers the requests of every connection, one at a time.

    What one client has been told is not worked out again for another: they run the same suite and
    often come with the same question at the same moment. A client that asks a second time wants
    to know whether the answer is the same, so it is asked again.
    """

    def __init__(self, backend: Backend, place: Place) -> None:
        self._backend, self._turn = backend, threading.Lock()
        self._known: dict[str, Completion] = {}  # digest of a greedy question -> its answer
        self._listener = Listener(place.address, authkey=bytes.fromhex(place.key))

    def serve(self) -> None:
        """Accept connections for ever, each with a thread of its own."""
        while True:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, OSError, EOFError):  # of this one client
                continue
            threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()

    def _serve_one(self, connection: Connection) -> None:
        told = set[str]()  # digests of what this client was told
        try:
            with connection:
                connection.send_bytes(_packed(self._introduction()))
                while True:
                    asked = json.loads(connection.recv_bytes())
                    with self._turn:
                        answered = self._answer(asked, told)
                    connection.send_bytes(_packed(answered))
        except (OSError, EOFError):
            return  # the client has gone

    def _introduction(self) -> dict[str, Any]:
        return {
            "identity": dict(self._backend.identity),
            "fingerprint": fingerprint(self._backend),
            "window": getattr(self._backend, "window", None),
        }

    def _answer(self, asked: Mapping[str, Any], told: set[str]) -> dict[str, Any]:
        options = {key: asked[key] for key in ("tools", "tool_choice", "max_tokens")}
        try:
            if "stop" not in asked:
                answers = self._complete_many(asked["requests"], options, told)
            else:
                [messages] = asked["requests"]
                sampling = Sampling(**asked["sampling"])
                answers = (self._complete(messages, asked["stop"], sampling, options),)
        except Exception as error:
            return {"raised": f"{type(error).__name__}: {error}"}
        return {"answers": [*map(_answer_data, answers)]}

    def _complete_many(
        self,
        requests: Sequence[Sequence[Message]],
        options: Mapping[str, Any],
        told: set[str],
    ) -> tuple[Completion | BackendError, ...]:
        questions = {_digest([options, messages]): messages for messages in requests}
        found: dict[str, Completion | BackendError] = {
            question: replace(answer, cached_tokens=answer.prompt_tokens)  # none was computed
            for question in questions.keys() - told
            if (answer := self._known.get(question)) is not None
        }
        missing = {q: messages for q, messages in questions.items() if q not in found}
        if missing:
            answers = complete_many(self._backend, list(missing.values()), **options)
            new = dict(zip(missing, answers, strict=True))
            self._known.update((q, a) for q, a in new.items() if isinstance(a, Completion))
            found |= new
        told.update(questions)
        return tuple(found[_digest([options, messages])] for messages in requests)

    def _complete(
        self,
        messages: Sequence[Message],
        stop: Sequence[str],
        sampling: Sampling,
        options: Mapping[str, Any],
    ) -> Completion | BackendError:
        try:
            return self._backend.complete(messages, stop=stop, sampling=sampling, **options)
        except BackendError as error:
            return error


class Link:
    """A connection to where a backend is served.

    Attributes:
        told: what the server says of its backend: ``identity``, ``fingerprint`` and ``window``.

    Raises:
        ModelLost: nobody serves there, or no longer; the text names the process.
    """

    def __init__(self, place: Place) -> None:
        self._process, self._turn = place.process, threading.Lock()
        try:
            self._connection = Client(place.address, authkey=bytes.fromhex(place.key))
            self.told: Mapping[str, Any] = json.loads(self._connection.recv_bytes())
        except (OSError, EOFError, AuthenticationError) as error:
            raise self._lost(error) from None

    @property
    def closed(self) -> bool:
        """Whether it was closed, or lost."""
        return self._connection.closed

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(self, asked: Mapping[str, Any]) -> tuple[Completion | BackendError, ...]:
        """Send a request and wait for its answers."""
        data = _packed(asked)
        try:
            with self._turn:
                self._connection.send_bytes(data)
                answered = json.loads(self._connection.recv_bytes())
        except (OSError, EOFError) as error:
            self.close()
            raise self._lost(error) from None
        if "raised" in answered:
            raise ModelError(f"process {self._process}, which runs it: {answered['raised']}")
        return tuple(map(_read_answer, answered["answers"]))

    def _lost(self, error: Exception) -> ModelLost:
        what = str(error) or type(error).__name__
        return ModelLost(
            f"process {self._process}, which runs the model for all workers, is gone ({what})"
        )


class LocalBackend:
    """Asks a backend that another process serves; once that is lost, the next request looks anew.

    Attributes:
        encoder: the model's tokenizer and chat template.
        identity: the served backend's own.
        fingerprint: likewise.
        window: likewise.

    Args:
        connect: finds who serves, or raises ModelError.
        encoder: see above.

    Raises:
        ModelError: from ``connect``; every method may raise it, too.
    """

    def __init__(self, connect: Callable[[], Link], *, encoder: Any) -> None:
        self._connect, self._link, self.encoder = connect, connect(), encoder
        told = self._link.told
        self.identity: Mapping[str, str] = told["identity"]
        self.fingerprint: str | None = told["fingerprint"]
        self.window: int | None = told["window"]

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
        """Answer one request; see ``backend.Backend.complete``."""
        [answer] = self._ask(
            requests=[messages],
            tools=tools,
            tool_choice=tool_choice,
            max_tokens=max_tokens,
            stop=stop,
            sampling=asdict(sampling),
        )
        if isinstance(answer, BackendError):
            raise answer
        if watch is not None:
            watch(answer.text)
        return answer

    def complete_many(
        self,
        requests: Sequence[Sequence[Message]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
    ) -> tuple[Completion | BackendError, ...]:
        """Answer many requests greedily; see ``backend.BatchBackend.complete_many``."""
        return self._ask(
            requests=requests, tools=tools, tool_choice=tool_choice, max_tokens=max_tokens
        )

    def close(self) -> None:
        """Close the connection; a later request opens another."""
        self._link.close()

    def _ask(self, **asked: Any) -> tuple[Completion | BackendError, ...]:
        if self._link.closed:
            link = self._connect()
            if link.told["fingerprint"] != self.fingerprint:
                link.close()
                raise ModelError("the model has changed while the run went on; run again")
            self._link = link
        return self._link.ask(asked)


def _packed(data: Any) -> bytes:
    return json.dumps(data).encode()  # ASCII: half a surrogate pair gets through


def _digest(data: Any) -> str:
    return hashlib.sha256(_packed(data)).hexdigest()


def _answer_data(answer: Completion | BackendError) -> dict[str, Any]:
    if isinstance(answer, PromptTooLong):
        return {"too_long": [answer.tokens, answer.limit]}
    if isinstance(answer, BackendError):
        return {"error": str(answer)}
    return {"completion": completion_data(answer)}


def _read_answer(data: Mapping[str, Any]) -> Completion | BackendError:
    [(kind, value)] = data.items()
    readers: dict[str, Callable[[Any], Completion | BackendError]] = {
        "too_long": lambda pair: PromptTooLong(*pair),
        "error": BackendError,
        "completion": read_completion,
    }
    return readers[kind](value)
