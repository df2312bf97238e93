"""What is judged of every replay, marked or not, so that nothing is green by accident."""

from __future__ import annotations

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case
from pytest_ctxguard.checks.requests import named_requests


def guard(case: Case, *, expect_identity: bool = False) -> Judgement:
    """Find a mutated history, and a policy that never acted although it had to."""
    findings = [f for f in (_mutated(case), None if expect_identity else _idle(case)) if f]
    acted = sum(step.request.acted for step in case.replay.steps)
    summary = f"the policy changed {acted} of {len(case.replay.steps)} requests"
    return Judgement("guard", summary, tuple(findings))


def _mutated(case: Case) -> Finding | None:
    hits = [(place, r.mutated) for place, r in named_requests(case.replay) if r.mutated]
    if not hits:
        return None
    place, what = hits[0]
    return Finding(
        rule="ctx_replay.mutated",
        what="the policy changed the history it was given",
        where=case.place(place, ", ".join(what[:3])),
        measured=f"{len(hits)} requests with a changed history",
        allowed="0: a policy decides what is sent, the stored history keeps everything",
        why="what it removes is gone for every later call",
        remedy="build a new list, and a new dict for each message that is shortened",
    )


def _idle(case: Case) -> Finding | None:
    replay = case.replay
    if replay.budget is None or replay.acted:
        return None
    over = [step for step in replay.steps if step.history_tokens > replay.budget]
    if not over:
        return None
    return Finding(
        rule="ctx_replay.idle",
        what="the policy never changed a request although the history exceeded the budget",
        where=case.place(f"call {over[0].call.index}"),
        measured=f"{over[0].history_tokens} tokens of history at its first such call",
        allowed=f"{replay.budget} tokens",
        why="nothing was tested: this policy does what no policy does",
        remedy="check that the budget reaches the policy; a policy that is meant to send "
        "everything says so with ctx_replay(…, expect_identity=True)",
    )
