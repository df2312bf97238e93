"""One replay and its checks under a clock, and the same by hand."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from benchmarks.sessions import BUDGET, MUTATES, PERSISTS, summarise
from pytest_ctxguard.checks.budget import Budget
from pytest_ctxguard.checks.carried import CarriedFact
from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.checks.wellformed import Wellformed
from pytest_ctxguard.policies.declare import mutates, persists, undeclared
from pytest_ctxguard.policies.protocol import Policy, bind, made
from pytest_ctxguard.replay.run import Plan, run
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.tokens.request import RequestEncoder
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.model import Transcript

PROVIDER = "openai"


class Clock:
    """Seconds of the processor spent in a policy, and in what it was offered and called."""

    def __init__(self) -> None:
        self.policy = self.offered = 0.0

    def watched(self, offered: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a policy is offered, under this clock."""

        def call(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            answer = offered(*args, **options)
            self.offered += time.process_time() - started
            return answer

        return call


class Watched:
    """A policy under a clock; its copies share it."""

    def __init__(self, policy: Policy, clock: Clock) -> None:
        self.__wrapped__, self.clock = policy, clock

    def __deepcopy__(self, memo: dict[int, Any]) -> Watched:
        return Watched(copy.deepcopy(self.__wrapped__, memo), self.clock)

    def __call__(self, messages: list[Message], **offered: Any) -> Any:
        """Run the policy."""
        for name in ("count", "summarise"):
            if name in offered:
                offered[name] = self.clock.watched(offered[name])
        started = time.process_time()
        sent = self.__wrapped__(messages, **offered)
        self.clock.policy += time.process_time() - started
        return self._awaited(sent) if isawaitable(sent) else sent

    async def _awaited(self, awaitable: Awaitable[Any]) -> Any:
        started = time.process_time()
        sent = await awaitable
        self.clock.policy += time.process_time() - started
        return sent


def declared(name: str, policy: Policy) -> Policy:
    """Declare what the policy of this name is."""
    policy = persists(policy) if name in PERSISTS else policy
    return mutates(policy) if name in MUTATES else policy


def ours(
    name: str, make: Callable[[], Policy], transcript: Transcript, encoder: RequestEncoder
) -> dict[str, Any]:
    """Replay and judge; seconds, by part, and how many messages were handled."""
    clock = Clock()
    counter = RequestEncoder(encoder.tokenizer)  # remembers nothing from before
    policy, shape = undeclared(made(make(), {}))
    policy = declared(name, Watched(policy, clock))
    policy = mutates(policy) if shape.mutates else policy
    policy = persists(policy) if shape.persists else policy
    plan = Plan(
        transcript=transcript, policy=policy, counter=counter, budget=BUDGET, summariser=summarise
    )
    gc.collect()
    started = time.process_time()
    replay = run(plan)
    replayed = time.process_time()
    findings = judged(replay)
    ended = time.process_time()
    return {
        "total_s": ended - started,
        "ours_s": ended - started - clock.policy,
        "policy_s": clock.policy - clock.offered,
        "counted_for_policy_s": clock.offered,
        "checks_s": ended - replayed,
        "handled": sum(s.call.history + len(s.request.messages) for s in replay.steps),
        "calls": len(replay.steps),
        "findings": findings,
    }


def judged(replay: Replay) -> int:
    """Judge a replay by three checks; returns the number of findings."""

    def none(*_: Any) -> Any:
        raise AssertionError("these checks ask no model")

    case = Case(replay=replay, answers=none, model=none, recorded=dict)
    checks = (Wellformed(PROVIDER), Budget(BUDGET), CarriedFact("ticket"))
    return sum(len(check.judge(case).findings) for check in checks)


def peer(
    name: str, make: Callable[[], Policy], transcript: Transcript, encoder: RequestEncoder
) -> float:
    """Run the policy on every history and serialise what it sends; seconds."""
    counter = RequestEncoder(encoder.tokenizer)
    tools = list(transcript.tools)
    offered = {
        "budget": BUDGET,
        "tools": tools,
        "count": lambda messages: counter.count(messages, tools=tools),
        "summarise": summarise,
    }
    policy = bind(declared(name, made(make(), offered)), offered)
    stored: list[Message] = []
    upto = 0
    gc.collect()
    started = time.process_time()
    with asyncio.Runner() as runner:
        for call in transcript.calls:
            stored = [*stored, *transcript.messages[upto : call.history]]
            upto = call.history
            sent = policy(list(stored))  # type: ignore[arg-type]  # messages are dicts
            if isawaitable(sent):
                sent = runner.run(_wait(sent))
            json.dumps({"messages": list(sent), "tools": tools})
            stored = list(sent) if policy.shape.persists else stored
    return time.process_time() - started


async def _wait(awaitable: Any) -> Any:
    return await awaitable
