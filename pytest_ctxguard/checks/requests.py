"""All requests of a replay with a name a person can find again."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ctxguard.replay.values import Replay, Request


def named_requests(replay: Replay) -> Iterator[tuple[str, Request]]:
    """Yield each call's request and each probe's, with its place."""
    for step in replay.steps:
        yield f"call {step.call.index}", step.request
    for fact, requests in replay.probes.items():
        for number, request in enumerate(requests, 1):
            yield f"probe {fact}/{number}", request
