"""Run an agent's tool loop under a policy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from pytest_ctxguard.backend import Backend, Completion, ToolCall
from pytest_ctxguard.driver.values import Drive, DriveStep, Job
from pytest_ctxguard.errors import PolicyError, PromptTooLong, UsageError
from pytest_ctxguard.policies.protocol import BoundPolicy, Policy, bind, made, policy_name
from pytest_ctxguard.replay.recorder import EndlessSummarising, Recorder, Summariser
from pytest_ctxguard.replay.run import refuse_running_loop
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import Message

BAD_ARGUMENTS = "error: the arguments are no JSON object"


def drive(
    job: Job,
    policy: Policy,
    *,
    backend: Backend,
    counter: Counter,
    budget: int | None = None,
    summariser: Summariser | None = None,
    calls: int = 200,
    max_tokens: int = 1024,
) -> Drive:
    """Run an agent's tool loop under a policy until it ends, is refused, or runs out of calls.

    The policy is handed the stored history itself, as agents do it, and so can spoil it.

    Args:
        job: what there is to do.
        policy: a policy of any shape, or a factory of one.
        backend: the model; one with a limit (:class:`LimitedBackend`, or an ``EndpointBackend``
            of a server started with ``limit=``) is what makes a drive tell anything.
        counter: exact counter of requests; ``count`` for the policy.
        budget: tokens offered to the policy as ``budget``.
        summariser: what the policy is offered as ``summarise``.
        calls: how many calls it may make.
        max_tokens: of each answer.

    Raises:
        UsageError: the policy cannot be bound, or ``calls`` is below 1.
        PolicyError: it returned something other than messages.
        BackendError: the model failed otherwise than by refusing a prompt as too long.
    """
    refuse_running_loop("drive", instead="call it in a test without async; it awaits policies")
    if calls < 1:
        raise UsageError(f"calls={calls}: a drive makes at least one call")
    recorder = Recorder(counter, tools=job.tools, summariser=summariser)
    loop = _Loop(job, policy, recorder, counter, budget)
    steps: list[DriveStep] = []
    with asyncio.Runner() as runner:
        while len(steps) < calls:
            step = loop.request(runner)
            try:
                completion = backend.complete(step.request, tools=job.tools, max_tokens=max_tokens)
            except PromptTooLong as refusal:
                history = tuple(loop.history)
                return Drive(
                    outcome="refused", steps=(*steps, step), history=history, refusal=refusal
                )
            steps.append(replace(step, completion=completion))
            if not loop.take(completion, number=len(steps)):
                return Drive(outcome="finished", steps=tuple(steps), history=tuple(loop.history))
    return Drive(outcome="out of calls", steps=tuple(steps), history=tuple(loop.history))


class _Loop:
    """The stored history, and what is done to it."""

    def __init__(
        self, job: Job, policy: Policy, recorder: Recorder, counter: Counter, budget: int | None
    ) -> None:
        self._job, self._recorder, self._counter = job, recorder, counter
        self._name = policy_name(policy)
        offered: dict[str, Any] = {
            "budget": budget,
            "count": recorder.count,
            "tools": list(job.tools),
            "summarise": recorder.summarise_for(policy),
        }
        policy = made(policy, offered)
        offered["summarise"] = recorder.summarise_for(policy)
        self._bound: BoundPolicy = bind(policy, offered)
        self.history: list[dict[str, Any]] = [dict(message) for message in job.messages]

    def request(self, runner: asyncio.Runner) -> DriveStep:
        """Return the next call, not yet answered."""
        uncut = self._count(self.history)
        try:
            output = self._bound(self.history)
            if isawaitable(output):
                output = runner.run(_awaited(output))
        except EndlessSummarising as error:
            raise PolicyError(f"policy {self._name} did not end: {error}") from None
        if not isinstance(output, list | tuple) or not all(isinstance(m, dict) for m in output):
            raise PolicyError(
                f"policy {self._name} returned {type(output).__name__} for a history of "
                f"{len(self.history)} messages; a policy returns the list of messages to send"
            )
        request = tuple(output)
        if self._bound.shape.persists:
            self.history = list(request)
        summaries, _ = self._recorder.take()
        return DriveStep(
            request=request,
            tokens=self._count(request),
            history_tokens=uncut,
            summaries=summaries,
        )

    def take(self, completion: Completion, *, number: int) -> bool:
        """Store an answer and run its tools; tell whether there were any."""
        message: dict[str, Any] = {"role": "assistant", "content": completion.text or None}
        calls = [
            {
                "id": f"call_{number}_{position}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for position, call in enumerate(completion.tool_calls, 1)
        ]
        if not calls:
            self.history.append({**message, "content": completion.text})
            return False
        self.history.append({**message, "tool_calls": calls})
        for call, asked in zip(calls, completion.tool_calls, strict=True):
            result = {"role": "tool", "tool_call_id": call["id"], "content": self._run(asked)}
            self.history.append(result)
        return True

    def _run(self, call: ToolCall) -> str:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            return BAD_ARGUMENTS
        if not isinstance(arguments, dict):
            return BAD_ARGUMENTS
        return self._job.run_tool(call.name, arguments)

    def _count(self, messages: Sequence[Message]) -> int:
        return self._counter.count(messages, tools=self._job.tools)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
