"""A running server: one thread with an event loop, one socket on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path
from typing import Self

import uvicorn

from pytest_ctxguard.backend import Backend
from pytest_ctxguard.errors import CtxguardError, UsageError
from pytest_ctxguard.server.app import App
from pytest_ctxguard.server.chat import Chat, Faults, Received, Rules
from pytest_ctxguard.server.jobs import Desk
from pytest_ctxguard.server.recording import Recorder
from pytest_ctxguard.server.tokenizing import Encoder
from pytest_ctxguard.transcript.model import Transcript

HOSTS = ("127.0.0.1", "localhost")
BODY_LIMIT = 32 * 2**20  # bytes; Anthropic's own limit for a request
START_SECONDS, STOP_SECONDS = 30, 3


class Server:
    """Serves a backend on 127.0.0.1 until stopped; also a context manager.

    Args:
        backend: what answers.
        encoder: counts the prompts of a backend that has no ``encoder`` of its own.
        limit: tokens a prompt may have; default the backend's context window.
        host: 127.0.0.1, and nothing that other machines reach.
        port: 0 takes a free one.
        key: what clients must send as bearer token or ``x-api-key``; None: anything goes.
        record: a ``.jsonl`` file for the transcript; further sessions get ``-2``, ``-3``, …
        faults: number of a chat request, from 1 -> what happens to it; or a function of number
            and body, called in the server's thread.
        strict: refuse tool calls without results, and what else the provider refuses.
        body_limit: bytes a request's body may have.
        keep: keep every chat request in ``requests``, and transcripts even without ``record``.
    """

    def __init__(
        self,
        backend: Backend,
        encoder: Encoder,
        *,
        limit: int | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        key: str | None = None,
        record: Path | None = None,
        faults: Faults | None = None,
        strict: bool = True,
        body_limit: int = BODY_LIMIT,
        keep: bool = True,
    ) -> None:
        if host not in HOSTS:
            raise UsageError(f"the server listens on 127.0.0.1 only, not on {host!r}")
        if limit is not None and limit < 1:
            raise UsageError(f"the limit is {limit} tokens; it is at least 1")
        if key is not None and not key.strip():
            raise UsageError("the server's key is empty; unset it, or set a real one")
        encoder = getattr(backend, "encoder", encoder)
        identity = backend.identity
        window = limit if limit is not None else getattr(backend, "window", None)
        self._desk, self._port, self._stopped = Desk(backend), port, False
        self._recorder = None
        if keep or record is not None:
            self._recorder = Recorder(
                record, provenance={"recorded_by": "pytest-ctxguard serve", **identity}
            )
        self._chat = Chat(
            self._desk,
            encoder,
            rules=Rules(limit=window, strict=strict, faults=faults or {}, body_limit=body_limit),
            recorder=self._recorder,
            keep=keep,
        )
        app = App(self._chat, encoder, identity=identity, key=key)
        self._uvicorn = _Uvicorn(_config(app))
        self._thread = threading.Thread(target=self._run, name="ctxguard-server", daemon=True)
        self._socket: socket.socket | None = None

    def start(self) -> Self:
        """Start serving; returns once requests are answered.

        Raises:
            CtxguardError: the port is taken, or the server does not come up.
        """
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(("127.0.0.1", self._port))
        except OSError as error:
            made.close()
            raise CtxguardError(
                f"port {self._port} of 127.0.0.1 cannot be used ({error.strerror}). Take another, "
                "or 0 for a free one."
            ) from error
        self._socket, self._port = made, made.getsockname()[1]
        self._thread.start()
        if not self._uvicorn.ready.wait(START_SECONDS) or not self._uvicorn.started:
            self.stop()
            raise CtxguardError("the server did not come up")
        return self

    def stop(self) -> None:
        """End what is being answered at its next step, close the socket, join the threads."""
        if self._stopped:
            return
        self._stopped = True
        self._desk.give_up()
        self._uvicorn.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._desk.close()
        if self._socket is not None:
            self._socket.close()

    def wait(self) -> None:
        """Wait until the server ends; a signal's exception passes through."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The root: ``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_base_url(self) -> str:
        """What OpenAI clients take as ``base_url``."""
        return f"{self.url}/v1"

    @property
    def anthropic_base_url(self) -> str:
        """What Anthropic clients take as ``base_url``."""
        return self.url

    @property
    def requests(self) -> tuple[Received, ...]:
        """The chat requests so far, refused ones included."""
        return tuple(self._chat.received)

    @property
    def transcripts(self) -> tuple[Transcript, ...]:
        """What was asked and answered so far, one transcript per session."""
        return self._recorder.transcripts if self._recorder is not None else ()

    def transcript(self) -> Transcript:
        """Return the transcript of the one session there was.

        Raises:
            UsageError: nothing was answered, or there were several sessions.
        """
        found = self.transcripts
        if len(found) == 1:
            return found[0]
        what = f"{len(found)} sessions, see .transcripts: a request that does not extend the last"
        raise UsageError(
            f"the server recorded {what} one starts another" if found else "nothing was answered"
        )

    def _run(self) -> None:
        try:
            asyncio.run(self._uvicorn.serve(sockets=[self._socket] if self._socket else None))
        finally:
            self._uvicorn.ready.set()


class _Uvicorn(uvicorn.Server):
    """Tells when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _config(app: App) -> uvicorn.Config:
    return uvicorn.Config(
        app.asgi,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
