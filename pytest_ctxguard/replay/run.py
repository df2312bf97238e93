"""Run a policy over a transcript: every call, then every probe.

The core is a generator that yields the awaitables of async policies, so that one body serves
sync and async callers, and a sync policy runs outside any event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any

from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.protocol import BoundPolicy, Policy, bind, is_factory, policy_name
from pytest_ctxguard.replay.origin import trace, unchanged
from pytest_ctxguard.replay.values import Replay, Request, Step
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import Message, copy_json
from pytest_ctxguard.transcript.model import Fact, Transcript
from pytest_ctxguard.transcript.planted import problem_of

Core = Generator[Awaitable[Any], Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One replay, asked for.

    Attributes:
        transcript: what to replay.
        policy: a policy, or a factory of one.
        counter: exact counter of requests.
        budget: tokens offered to the policy as ``budget``; must be positive.
        label: the replay's name in keys and reports.
    """

    transcript: Transcript
    policy: Policy
    counter: Counter
    budget: int | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.budget is not None and (
            isinstance(self.budget, bool) or not isinstance(self.budget, int) or self.budget < 1
        ):
            raise UsageError(f"budget={self.budget!r}: a budget is a positive number of tokens")
        if not self.transcript.calls:
            raise UsageError(
                f"transcript {self.transcript.name!r} has no calls; there is nothing to replay"
            )
        self._check_facts()

    def _check_facts(self) -> None:
        """Refuse facts that cannot be asked for; those given in Python were never loaded."""
        names = [fact.name for fact in self.transcript.facts]
        for fact in self.transcript.facts:
            if names.count(fact.name) > 1:
                raise UsageError(f"two facts are named {fact.name!r}; rename one")
            problem = problem_of(fact, self.transcript.messages)
            if problem:
                raise UsageError(f"fact {fact.name!r}: {problem}")


def run(plan: Plan) -> Replay:
    """Replay a transcript under a policy.

    Raises:
        UsageError: called inside a running event loop, or the policy cannot be bound.
        PolicyError: the policy returned something other than messages.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError(
            "ctx_replay was called inside a running event loop: await ctx_replay.aio(…)"
        )
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
            except Exception as error:  # the core says where the policy raised it
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
        except Exception as error:  # the core says where the policy raised it
            resume = partial(core.throw, error)


async def _wait(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _replay(plan: Plan) -> Core:
    """Replay every call, then ask every wording of every fact."""
    transcript = plan.transcript
    bound = _new_policy(plan)
    snapshots = _Snapshots(plan)
    steps = []
    for call in transcript.calls:
        snapshots.take(bound, call.history)
        history = transcript.messages[: call.history]
        request = yield from _request(plan, bound, history, place=f"call {call.index}")
        full = request.tokens if not request.acted else _count(plan, history)
        steps.append(Step(call, request, full))
    snapshots.take(bound, len(transcript.messages) + 1)
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
    )


def _new_policy(plan: Plan) -> BoundPolicy:
    policy = plan.policy() if is_factory(plan.policy) else plan.policy
    offered: Mapping[str, Any] = {
        "budget": plan.budget,
        "count": lambda messages: _count(plan, messages),
        "tools": [copy_json(tool) for tool in plan.transcript.tools],
    }
    return bind(policy, offered)


def _count(plan: Plan, messages: Sequence[Message]) -> int:
    return plan.counter.count(messages, tools=plan.transcript.tools)


def _probe_point(transcript: Transcript, fact: Fact) -> int:
    """Return how many messages stand before a fact's probe."""
    return len(transcript.messages) if fact.asked_at is None else fact.asked_at


class _Snapshots:
    """Copies of the policy as it stood before the call that each probe replaces."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.waiting = sorted({_probe_point(plan.transcript, f) for f in plan.transcript.facts})
        self.taken: dict[int, BoundPolicy] = {}

    def take(self, bound: BoundPolicy, history: int) -> None:
        """Copy the policy for every probe point that a call with this history passes."""
        while self.waiting and self.waiting[0] < history:
            point = self.waiting.pop(0)
            try:
                self.taken[point] = bound.copied()
            except PolicyError:
                if not is_factory(self.plan.policy):
                    raise

    def at(self, point: int) -> Core:
        """Return a policy for one probe: a copy, or a new one brought to the same point."""
        if point in self.taken:
            return self.taken[point].copied()
        bound = _new_policy(self.plan)
        for call in self.plan.transcript.calls:
            if call.history <= point:
                history = self.plan.transcript.messages[: call.history]
                yield from _request(self.plan, bound, history, place=f"call {call.index}")
        return bound


def _probe(plan: Plan, fact: Fact, snapshots: _Snapshots) -> Core:
    point = _probe_point(plan.transcript, fact)
    before = plan.transcript.messages[:point]
    requests = []
    for number, wording in enumerate(fact.wordings):
        history = (*before, {"role": "user", "content": wording})
        bound = yield from snapshots.at(point)
        place = f"probe {fact.name}/{number + 1}"
        requests.append((yield from _request(plan, bound, history, place=place)))
    return tuple(requests)


def _request(
    plan: Plan, bound: BoundPolicy, history: Sequence[Message], *, place: str
) -> Generator[Awaitable[Any], Any, Request]:
    given = [copy_json(message) for message in history]
    handed = list(given)
    try:
        output = bound(handed)
        if isawaitable(output):
            output = yield output
    except Exception as error:
        error.add_note(
            f"ctxguard: raised by policy {policy_name(plan.policy)} at {place} of transcript "
            f"{plan.transcript.name!r} (history of {len(history)} messages)"
        )
        raise
    _check_output(plan, output, place)
    messages, origins = trace(output, given, history)
    return Request(
        messages=messages,
        origins=origins,
        tokens=_count(plan, messages),
        acted=not unchanged(messages, history),
        mutated=_mutated(handed, given, history),
    )


def _mutated(
    handed: Sequence[Message], given: Sequence[Message], history: Sequence[Message]
) -> tuple[str, ...]:
    """Say what a policy changed in the list it was handed, or in the messages of that list."""
    edited = [f"message {i}" for i, (a, b) in enumerate(zip(given, history, strict=True)) if a != b]
    same = len(handed) == len(given) and all(a is b for a, b in zip(handed, given, strict=False))
    return tuple(edited if same else ["the list of messages", *edited])


def _check_output(plan: Plan, output: Any, place: str) -> None:
    name = policy_name(plan.policy)
    if not isinstance(output, Sequence) or isinstance(output, str | bytes):
        raise PolicyError(
            f"policy {name} returned {type(output).__name__} at {place}; "
            "a policy returns the list of messages to send"
        )
    for index, message in enumerate(output):
        if not isinstance(message, Mapping):
            raise PolicyError(
                f"policy {name} returned a {type(message).__name__} as message {index} at "
                f"{place}; messages are OpenAI-format dicts"
            )
