"""Ask the backend without holding up the event loop, one request after the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

from pytest_ctxguard.backend import Backend, Completion
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.server.ask import Ask


class Job:
    """One request at the backend; made and read on the event loop, worked on in a thread."""

    def __init__(self, backend: Backend, ask: Ask, *, pool: ThreadPoolExecutor) -> None:
        self._backend, self._ask = backend, ask
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self._unwanted = threading.Event()
        self._future = self._loop.run_in_executor(pool, self._work)
        self._future.add_done_callback(self._ended)

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._unwanted.is_set()

    def give_up(self) -> None:
        """End the answer at the backend's next step; safe from any thread."""
        self._unwanted.set()

    async def pieces(self) -> AsyncIterator[str]:
        """Yield the pieces of text as they are decoded."""
        while (piece := await self._pieces.get()) is not None:
            yield piece

    async def completion(self) -> Completion:
        """Return the whole answer, or raise what the backend raised."""
        return await self._future

    def _work(self) -> Completion:
        if self.given_up:
            raise BackendError("nobody waits for this answer any more")
        ask = self._ask
        return self._backend.complete(
            ask.messages,
            tools=ask.offered,
            tool_choice=ask.tool_choice,
            max_tokens=ask.max_tokens,
            stop=ask.stop,
            sampling=ask.sampling,
            watch=self._watch,
        )

    def _ended(self, future: asyncio.Future[Completion]) -> None:
        """End the pieces; look at the error, which nobody else may, or asyncio complains."""
        if not future.cancelled():
            future.exception()
        self._pieces.put_nowait(None)

    def _watch(self, piece: str) -> bool:
        if piece and not self.given_up:
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)
        return not self.given_up


class Desk:
    """The backend's one thread, and another for tokenising and writing files."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ctxguard-backend")
        self.clerk = ThreadPoolExecutor(1, thread_name_prefix="ctxguard-clerk")
        self._jobs: set[Job] = set()
        self._closing = False

    def start(self, ask: Ask) -> Job:
        """Hand a request to the backend; it waits its turn."""
        if self._closing:
            raise BackendError("the server is shutting down")
        job = Job(self.backend, ask, pool=self._pool)
        self._jobs.add(job)
        return job

    def end(self, job: Job) -> None:
        """Take leave of a request, answered or not."""
        job.give_up()
        self._jobs.discard(job)

    def give_up(self) -> None:
        """End every answer at its next step; safe from any thread."""
        self._closing = True
        for job in tuple(self._jobs):
            job.give_up()

    def close(self) -> None:
        """Wait for the threads to end."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.clerk.shutdown(wait=True)
