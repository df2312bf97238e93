"""What is judged of every replay, marked or not, so that nothing is green by accident."""

from __future__ import annotations

from collections.abc import Collection

from pytest_ctxguard.checks.carried import sender
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.tokens.literals import control_literals


def guard(case: Case, *, expect_identity: bool = False, control: Collection[str] = ()) -> Judgement:
    """Find a mutated history, a policy that did nothing, requests without a message, forged turns.

    Args:
        case: the replay.
        expect_identity: whether the policy is meant to send everything.
        control: control tokens that act where content spells them; none where content is data.
    """
    idle = None if expect_identity else _idle(case) or _untried(case)
    found = (_mutated(case), idle, _empty(case), _forged(case, control))
    findings = [finding for finding in found if finding]
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


def untried_finding(fixture: str, *, where: str, longest: int, budget: int) -> Finding:
    """Return the finding of a policy that was given a budget which it never had to keep."""
    return Finding(
        rule=f"{fixture}.untried",
        what="the history never exceeded the budget, so the policy had nothing to do",
        where=where,
        measured=f"{longest} tokens in the longest history",
        allowed=f"a history of more than {budget} tokens, the budget",
        why="nothing was tested: what is cut, and whether a fact outlives it, was not seen",
        remedy="give a smaller budget, or a longer transcript; where the policy is meant to send "
        f"everything here, say so with {fixture}(…, expect_identity=True)",
        inconclusive=True,
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


def _untried(case: Case) -> Finding | None:
    replay = case.replay
    if replay.budget is None or not replay.takes_budget:
        return None  # a budget that the policy does not know is the mark's limit alone
    longest = max((step.history_tokens for step in replay.steps), default=0)
    acted = any(request.acted for _, request in named_requests(replay))
    if acted or longest > replay.budget:
        return None
    return untried_finding("ctx_replay", where=case.place(), longest=longest, budget=replay.budget)


def _empty(case: Case) -> Finding | None:
    hits = [place for place, request in named_requests(case.replay) if not request.messages]
    if not hits:
        return None
    return Finding(
        rule="ctx_replay.empty",
        what="a request has no message",
        where=case.place(hits[0]),
        measured=f"{len(hits)} requests without a message",
        allowed="none",
        why="every provider refuses it; and what is not sent can break no promise",
        remedy="have the policy keep the newest turn at least",
        requests=len(hits),
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
