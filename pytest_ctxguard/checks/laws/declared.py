"""The laws a policy keeps only if it declares them."""

from __future__ import annotations

from itertools import pairwise

from pytest_ctxguard.checks.laws.law import Broken
from pytest_ctxguard.checks.laws.runs import Run


def identity_below_budget(run: Run) -> Broken | None:
    """Find a history that fits and is changed all the same."""
    budget = run.setting.budget
    if budget is None:
        return None
    for seen, request in run.requests:
        if request.acted and seen.tokens <= budget:
            measured = f"{seen.tokens} tokens for a budget of {budget}"
            return Broken(seen.call, "a history that fits was changed", measured)
    return None


def idempotent(run: Run) -> Broken | None:
    """Find a request that the policy, given it as a history, would change again."""
    for seen, request in run.requests:
        if not request.acted or not request.messages:
            continue
        last = run.of(request.messages).observed[-1].request
        if last is None or last.messages != request.messages:
            return Broken(seen.call, "given its own request as the history, the policy changes it")
    return None


def always_extended(run: Run) -> Broken | None:
    """Find a request that does not begin with the whole request before it."""
    for (_, before), (seen, now) in pairwise(run.requests):
        size = len(before.messages)
        if now.messages[:size] != before.messages:
            same = sum(1 for _ in _common(before.messages, now.messages))
            what = "the request does not begin with the one before it"
            return Broken(seen.call, what, f"{same} of its {size} messages are the same")
    return None


def _common(before: tuple[object, ...], now: tuple[object, ...]) -> list[object]:
    same = []
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        same.append(one)
    return same
