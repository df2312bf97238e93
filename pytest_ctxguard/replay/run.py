"""Run a policy over a transcript: every call, then every probe.

The core is a generator that yields the awaitables of async policies, so that one body serves
sync and async callers, and a sync policy runs outside any event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.protocol import is_factory, policy_name
from pytest_ctxguard.replay.history import Originals
from pytest_ctxguard.replay.plan import Plan
from pytest_ctxguard.replay.recorder import EndlessSummarising
from pytest_ctxguard.replay.session import Session
from pytest_ctxguard.replay.values import Replay, Request, Step, probe_point
from pytest_ctxguard.transcript.model import Fact

__all__ = ["Plan", "run", "run_async"]

Core = Generator[Awaitable[Any], Any, Any]
IN_AN_ASYNC_TEST = (
    "await ctx_replay.aio(…); a check that runs the policy again is put on the test as a mark"
)


def run(plan: Plan) -> Replay:
    """Replay a transcript under a policy.

    Raises:
        UsageError: called inside a running event loop, or the policy cannot be bound.
        PolicyError: the policy returned something other than messages.
    """
    refuse_running_loop("a replay", instead=IN_AN_ASYNC_TEST)
    core = _replay(plan)
    resume: Callable[[], Awaitable[Any]] = partial(core.send, None)
    with asyncio.Runner() as runner:
        while True:
            try:
                awaitable = resume()
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]  # _replay returns a Replay
            try:
                resume = partial(core.send, runner.run(_wait(awaitable)))
            except (
                Exception,
                EndlessSummarising,
            ) as error:  # the core says where the policy raised it
                resume = partial(core.throw, error)


async def run_async(plan: Plan) -> Replay:
    """Replay a transcript under a policy, in the running event loop."""
    core = _replay(plan)
    resume: Callable[[], Awaitable[Any]] = partial(core.send, None)
    while True:
        try:
            awaitable = resume()
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]  # _replay returns a Replay
        try:
            resume = partial(core.send, await awaitable)
        except (Exception, EndlessSummarising) as error:  # the core says where the policy raised it
            resume = partial(core.throw, error)


def refuse_running_loop(called: str, *, instead: str = "") -> None:
    """Refuse to go on inside a running event loop, where no other one can be run.

    Args:
        called: a fixture with an ``aio``, or what else was called.
        instead: what to do.

    Raises:
        UsageError: inside one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"{called} was called inside a running event loop: {instead or f'await {called}.aio(…)'}"
    )


async def _wait(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _replay(plan: Plan) -> Core:
    """Replay every call, then ask every wording of every fact."""
    transcript = plan.transcript
    originals = Originals(transcript, plan.counter)
    session = Session(plan, originals)
    snapshots = _Snapshots(plan, originals)
    steps = []
    for call in transcript.calls:
        snapshots.take(session, call.history)
        request = yield from session.request(call.history, place=f"call {call.index}")
        full = request.given_tokens
        if session.bound.shape.persists:
            full = originals.tokens(call.history)
        steps.append(Step(call, request, full))
    snapshots.take(session, len(transcript.messages) + 1)
    probes: dict[str, tuple[Request, ...]] = {}
    for fact in transcript.facts:
        probes[fact.name] = yield from _probe(plan, fact, snapshots)
    return Replay(
        transcript=transcript,
        policy=policy_name(plan.policy),
        label=plan.label,
        budget=plan.budget,
        counter=plan.counter,
        steps=tuple(steps),
        probes=probes,
        summarises=session.summarises,
        persists=session.bound.shape.persists,
        takes_budget="budget" in session.bound.extras,
    )


class _Snapshots:
    """Copies of the policy as it stood before the call that each probe replaces."""

    def __init__(self, plan: Plan, originals: Originals) -> None:
        self.plan, self.originals = plan, originals
        self.waiting = sorted({probe_point(plan.transcript, f) for f in plan.transcript.facts})
        self.taken: dict[int, Session] = {}

    def take(self, session: Session, history: int) -> None:
        """Copy the policy for every probe point that a call with this history passes."""
        while self.waiting and self.waiting[0] < history:
            point = self.waiting.pop(0)
            try:
                self.taken[point] = session.copied()
            except PolicyError:
                if not is_factory(self.plan.policy):
                    raise

    def at(self, point: int) -> Core:
        """Return a policy for one probe: a copy, or a new one brought to the same point."""
        if point in self.taken:
            return self.taken[point].copied()
        session = Session(self.plan, self.originals)
        for call in self.plan.transcript.calls:
            if call.history <= point:
                yield from session.request(call.history, place=f"call {call.index}")
        return session


def _probe(plan: Plan, fact: Fact, snapshots: _Snapshots) -> Core:
    point = probe_point(plan.transcript, fact)
    requests = []
    for number, wording in enumerate(fact.wordings):
        session = yield from snapshots.at(point)
        asked = {"role": "user", "content": wording}
        place = f"probe {fact.name}/{number + 1}"
        requests.append((yield from session.request(point, asked=asked, place=place)))
    return tuple(requests)
