"""What the ``ctx_agent`` fixture does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ctxguard.errors import NothingChecked, UsageError
from pytest_ctxguard.plugin.record import TestRecord
from pytest_ctxguard.plugin.replaying import of_guarded
from pytest_ctxguard.plugin.services import Services
from pytest_ctxguard.replay.run import refuse_running_loop

if TYPE_CHECKING:
    from pytest_ctxguard.checks.agent import AgentPromise, AgentRun
    from pytest_ctxguard.server.running import Server
    from pytest_ctxguard.server.script import Answer, Answers, Fault

Agent = Callable[["Server"], Any]
OURS = ("uvicorn", "asyncio", "pytest_ctxguard")  # what the server itself logs is no alert


@contextmanager
def agent_fixture(item: pytest.Item) -> Iterator[AgentFixture]:
    """Give the fixture's value for one test; its servers stop when the test is over."""
    record, services = of_guarded(item, fixture="ctx_agent")
    with ExitStack() as stack:
        yield AgentFixture(record, services, stack)


@dataclass(frozen=True, slots=True, repr=False)
class AgentFixture:
    """Runs an agent against an endpoint that refuses, and judges what it did about it."""

    record: TestRecord
    services: Services
    stack: ExitStack

    def __call__(
        self,
        agent: Agent | Sequence[str],
        *,
        refuse: str | Fault | Mapping[str, Any] | None = None,
        at: int = 1,
        times: int = 1,
        limit: int | None = None,
        answers: Answers | None = None,
        says: str | None = None,
        sends: int | None = None,
        runs: Sequence[str] | None = None,
        window: int | None = None,
        alerts: Callable[[], Sequence[Any]] | None = None,
        alert_level: str | int | None = "ERROR",
    ) -> AgentRun:
        """Run an agent, and judge what it sent and said.

        Always judged: a request refused for good is not sent again unchanged; one refused as too
        long is followed by smaller ones only; one that met a busy server is sent again.

        Args:
            agent: takes the server (``.openai_base_url``, ``.anthropic_base_url``) and returns
                what its user reads; sync or async. Or a command, as a list of words, that reads
                ``OPENAI_BASE_URL`` or ``ANTHROPIC_BASE_URL`` and prints it.
            refuse: name of a refusal (an unknown name lists them), or a fault with ``status``.
            at: the number of the request it meets first.
            times: how often, where it is a busy server's.
            limit: tokens a prompt may have: a real limit.
            answers: the model's, in order or by a function of the messages; default "Done.".
            says: regular expression that what the user reads must contain.
            sends: how many requests are sent in all.
            runs: the tools that are run, in order.
            window: tokens that prompt and reserved answer may have together.
            alerts: returns the alerts raised, such as ``lambda: pager.pages``.
            alert_level: a log record of at least this level is an alert, too; None: none is.

        Raises:
            ContextGateFailure: a promise was broken, or nothing was refused.
            UsageError: the call asks for something impossible.
        """
        __tracebackhide__ = True
        from pytest_ctxguard.checks.agent import AgentPromise
        from pytest_ctxguard.checks.guarded import enforce

        refuse_running_loop(
            "ctx_agent", instead="call it in a test without async; it awaits agents"
        )
        scene = _Scene(refuse=refuse, at=at, times=times, limit=limit, answers=answers)
        promise = AgentPromise(says=says, sends=sends, runs=runs, window=window)
        run = self._run(agent, scene, alerts=alerts, level=alert_level)
        _check_met(run, scripted=refuse is not None, promise=promise)
        judgement = promise.judge(run)
        self.record.agents.append(judgement)
        enforce((judgement,))
        return run

    def _run(
        self,
        agent: Agent | Sequence[str],
        scene: _Scene,
        *,
        alerts: Callable[[], Sequence[Any]] | None,
        level: str | int | None,
    ) -> AgentRun:
        from pytest_ctxguard.checks.agent import AgentRun
        from pytest_ctxguard.server.command_agent import CommandAgent

        if not callable(agent):
            agent = CommandAgent(agent)
        server, name, too_long = scene.serve(self.services)
        self.stack.enter_context(server)
        self.record.servers.append(lambda: len(server.requests))
        said, raised = None, None
        with _alarms(level) as logged:
            try:
                said = agent(server)
                if isawaitable(said):
                    said = asyncio.run(_awaited(said))
            except AssertionError:  # the test's own, inside its agent
                raise
            except (Exception, SystemExit) as error:
                raised = error
        return AgentRun(
            refusal=name,
            too_long=too_long,
            requests=server.requests,
            said=None if said is None else str(said),
            raised=raised,
            alerts=(*logged, *(str(alert) for alert in (alerts() if alerts else ()))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What the endpoint does."""

    refuse: str | Fault | Mapping[str, Any] | None
    at: int
    times: int
    limit: int | None
    answers: Answers | None

    def serve(self, services: Services) -> tuple[Server, str, bool]:
        """Return the server, the refusal's name, and whether it is for being too long."""
        from pytest_ctxguard.server.refusing import Refusing
        from pytest_ctxguard.server.running import Server
        from pytest_ctxguard.server.script import ScriptedAnswers

        faults = None
        if self.refuse is not None:
            faults = Refusing(self.refuse, at=self.at, times=self.times)
        server = Server(
            ScriptedAnswers(_done if self.answers is None else self.answers),
            services.encoder,
            limit=self.limit,
            faults=faults,
        )
        if faults is None:
            return server, f"limit of {self.limit} tokens", True
        name = self.refuse if isinstance(self.refuse, str) else f"status {faults.fault.status}"
        return server, name, faults.too_long or self.limit is not None


def _check_met(run: AgentRun, *, scripted: bool, promise: AgentPromise) -> None:
    """Refuse a run that met no refusal, unless something else of it is judged."""
    if any((request.status or 0) >= 400 for request in run.requests):
        return
    if run.raised is not None:
        raise run.raised
    judged = (promise.says, promise.sends, promise.runs, promise.window)
    if scripted or not run.requests or all(part is None for part in judged):
        raise NothingChecked(
            f"nothing to check: the agent sent {len(run.requests)} requests, and none was refused. "
            "Point it at the server it is given, or refuse an earlier request (at=…, limit=…)."
        )


def _done(messages: Sequence[Mapping[str, Any]]) -> Answer:
    return "Done."


async def _awaited(value: Any) -> Any:
    return await value


@contextmanager
def _alarms(level: str | int | None) -> Iterator[list[str]]:
    """Collect the log records of at least a level, as texts."""
    found: list[str] = []
    if level is None:
        yield found
        return

    class Alarm(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name.partition(".")[0] not in OURS:
                found.append(f"{record.levelname} {record.name}: {record.getMessage()}")

    try:
        handler = Alarm(level)
    except ValueError as error:
        raise UsageError(f"ctx_agent: alert_level={level!r}: {error}") from None
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield found
    finally:
        root.removeHandler(handler)
