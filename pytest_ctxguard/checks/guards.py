"""What is judged of every replay, marked or not, so that nothing is green by accident."""

from __future__ import annotations

from collections.abc import Collection

from pytest_ctxguard.checks.carried import sender
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.tokens.literals import control_literals


def guard(case: Case, *, expect_identity: bool = False, control: Collection[str] = ()) -> Judgement:
    """Find a mutated history, a policy that never acted although it had to, and forged turns.

    Args:
        case: the replay.
        expect_identity: whether the policy is meant to send everything.
        control: control tokens that act where content spells them; none where content is data.
    """
    idle = None if expect_identity else _idle(case)
    findings = [f for f in (_mutated(case), idle, _forged(case, control)) if f]
    acted = sum(step.request.acted for step in case.replay.steps)
    summary = f"{sender(case.replay)} changed {acted} of {len(case.replay.steps)} requests"
    judged = len(list(named_requests(case.replay)))
    return Judgement("guard", summary, tuple(findings), requests=judged)


def mutated_finding(fixture: str, *, where: str, measured: str, requests: int) -> Finding:
    """Return the finding of a history that was changed in place."""
    return Finding(
        rule=f"{fixture}.mutated",
        what="the policy changed the history it was given",
        where=where,
        measured=measured,
        allowed="0: a policy decides what is sent, the stored history keeps everything",
        why="what it removes is gone for every later call",
        remedy="build a new list, and a new dict for each message that is shortened; what "
        "edits its input on purpose is declared: mutates(policy)",
        requests=requests,
    )


def idle_finding(
    fixture: str, *, where: str, measured: str, budget: int | None, requests: int, hint: str = ""
) -> Finding:
    """Return the finding of a policy that never acted; ``hint`` is one more thing to check."""
    return Finding(
        rule=f"{fixture}.idle",
        what="the policy never changed a request although the history exceeded the budget",
        where=where,
        measured=measured,
        allowed=f"{budget} tokens",
        why="nothing was tested: this policy does what no policy does",
        remedy=f"check that the budget reaches the policy{hint}; a policy that is meant to send "
        f"everything says so with {fixture}(…, expect_identity=True)",
        requests=requests,
    )


def _mutated(case: Case) -> Finding | None:
    hits = [(place, r.mutated) for place, r in named_requests(case.replay) if r.mutated]
    if not hits:
        return None
    place, what = hits[0]
    return mutated_finding(
        "ctx_replay",
        where=case.place(place, ", ".join(what[:3])),
        measured=f"{len(hits)} requests with a changed history",
        requests=len(hits),
    )


def _idle(case: Case) -> Finding | None:
    replay = case.replay
    if replay.budget is None or replay.acted:
        return None
    over = [step for step in replay.steps if step.history_tokens > replay.budget]
    if not over:
        return None
    return idle_finding(
        "ctx_replay",
        where=case.place(f"call {over[0].call.index}"),
        measured=f"{over[0].history_tokens} tokens of history at its first such call",
        budget=replay.budget,
        requests=len(over),
    )


def _forged(case: Case, control: Collection[str]) -> Finding | None:
    """Find content that a server which parses control tokens would obey."""
    tools = case.replay.transcript.tools
    if not control:
        return None
    hits = [
        (place, spelled[0])
        for place, request in named_requests(case.replay)
        if (spelled := control_literals(request.messages, tools, control=control))
    ]
    if not hits:
        return None
    place, first = hits[0]
    where = "tool definitions" if first.message is None else f"message {first.message}"
    return Finding(
        rule="ctx_replay.control-token",
        what=f"content spells the control token {first.literal}, and this server obeys it",
        where=case.place(place, where),
        measured=f"{len(hits)} requests with such content",
        allowed="none, under ctxguard_special_tokens = parse",
        why="the model reads a turn that ends, or begins, inside a tool's output",
        remedy="break the literal up where tool output enters the history; if your server takes "
        "content as data, set ctxguard_special_tokens = data",
        requests=len(hits),
    )
