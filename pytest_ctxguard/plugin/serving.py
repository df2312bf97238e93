"""What the ``ctx_server`` fixture does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.replaying import of_guarded
from pytest_ctxguard.plugin.services import Services

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ctxguard.backend import Backend
    from pytest_ctxguard.server.running import Server
    from pytest_ctxguard.server.script import Answers, Fault


@contextmanager
def server_fixture(item: pytest.Item) -> Iterator[ServerFixture]:
    """Give the fixture's value for one test; its servers stop when the test is over."""
    record, services = of_guarded(item, fixture="ctx_server")
    with ExitStack() as stack:
        yield ServerFixture(record, services, stack)


@dataclass(frozen=True, slots=True, repr=False)
class ServerFixture:
    """Starts servers for one test; a test whose server gets no request fails."""

    record: TestRecord
    services: Services
    stack: ExitStack

    def __call__(
        self,
        *,
        answers: Answers | None = None,
        backend: Backend | None = None,
        limit: int | None = None,
        record: str | Path | None = None,
        faults: Mapping[int, Fault | Mapping[str, Any]] | None = None,
        key: str | None = None,
        strict: bool = True,
    ) -> Server:
        """Start a chat endpoint on loopback.

        Args:
            answers: fixed answers, in order or by a function of the messages: text, a
                ``Completion``, or an object with ``text`` and ``tool_calls``.
            backend: what answers instead; by default the run's model.
            limit: tokens a prompt may have; default the backend's context window.
            record: a ``.jsonl`` file for the transcript of what is asked and answered.
            faults: number of a request, from 1 -> what happens to it: an object with
                ``status``, ``body``, ``retry_after``, ``delay`` and ``drop_after``.
            key: what clients must send.
            strict: refuse tool calls without results, and what else the provider refuses.

        Raises:
            UsageError: the call asks for something impossible.
        """
        __tracebackhide__ = True
        from pathlib import Path

        from pytest_ctxguard.server.running import Server
        from pytest_ctxguard.server.script import ScriptedAnswers, read_faults

        if answers is not None and backend is not None:
            raise UsageError("ctx_server takes answers or a backend, not both")
        if answers is not None:
            backend = ScriptedAnswers(answers)
        server = Server(
            self.services.backend if backend is None else backend,
            self.services.encoder,
            limit=limit,
            key=key,
            record=None if record is None else Path(record),
            faults=read_faults(faults or {}),
            strict=strict,
        )
        self.stack.enter_context(server)
        self.record.servers.append(lambda: len(server.requests))
        return server
