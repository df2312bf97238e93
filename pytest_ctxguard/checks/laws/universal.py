"""The laws every policy keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_ctxguard.checks.laws.law import Broken
from pytest_ctxguard.checks.laws.runs import Observed, Run, run_policy
from pytest_ctxguard.checks.laws.texts import invented
from pytest_ctxguard.replay.values import Request
from pytest_ctxguard.transcript.messages import Message
from pytest_ctxguard.transcript.wellformed import PROVIDERS, Sound

# What the law of the current turn judges, in its own way.
ELSEWHERE = ("current-task", "current-round")


def answers(run: Run) -> Broken | None:
    """Find a call at which the policy raised, other than to say that nothing fits."""
    for seen in run.observed:
        if seen.error is None:
            continue
        said = f"{type(seen.error).__name__}: {seen.error}"
        if not isinstance(seen.error, run.terms.refuses):
            return Broken(seen.call, "the policy raised", said)
        tokens = run.terms.counter.count(seen.history, tools=run.transcript.tools)
        if run.setting.budget is not None and tokens <= run.setting.budget:
            what = "the policy refused a history that fits"
            return Broken(seen.call, what, f"{tokens} tokens; {said}")
    return None


def well_formed(run: Run) -> Broken | None:
    """Find a request that breaks a rule of the provider which the history itself keeps."""
    rules = PROVIDERS[run.terms.provider]
    sound = Sound()
    for seen, request in run.requests:
        if not request.acted:
            continue
        problems = [
            p
            for p in rules(
                request.messages, run.transcript.tools, history=seen.history, sound=sound
            )
            if p.rule not in ELSEWHERE
        ]
        if not problems:
            continue
        excused = {p.rule for p in rules(seen.history, run.transcript.tools)}
        for problem in problems:
            if problem.rule not in excused:
                at = "" if problem.index is None else f" (message {problem.index})"
                what = f"{problem.what}{at}"
                return Broken(seen.call, what, f"{problem.rule}: {problem.refusal or problem.what}")
    return None


def order(run: Run) -> Broken | None:
    """Find a request whose messages stand in another order than in the history, or twice."""
    for seen, request in run.requests:
        ids = Counter(m.get("tool_call_id") for m in seen.history if m.get("role") == "tool")
        last = -1
        for origin in request.origins:
            if origin.index is None:
                continue
            message = seen.history[origin.index]
            if origin.edited and ids[message.get("tool_call_id")] > 1:
                continue  # found by an id that several results have
            if origin.index == last:
                return Broken(seen.call, f"message {last} of the history is sent twice")
            if origin.index < last:
                what = f"message {origin.index} of the history is sent after message {last}"
                return Broken(seen.call, what)
            last = origin.index
    return None


def nothing_invented(run: Run) -> Broken | None:
    """Find a message that says what neither the history says nor the policy may put in."""
    for seen, request in run.requests:
        pairs = zip(request.messages, request.origins, strict=True)
        for place, (message, origin) in enumerate(pairs):
            if origin.index is not None and not origin.edited:
                continue
            sources = seen.history if origin.index is None else (seen.history[origin.index],)
            what = invented(message, sources, run.terms)
            if what:
                return Broken(seen.call, f"message {place} has {what}, which the history has not")
    return None


def unmutated(run: Run) -> Broken | None:
    """Find a call at which the policy changed what it was given, or gave its own list back."""
    for seen, request in run.requests:
        if request.mutated:
            return Broken(
                seen.call, f"the policy changed {', '.join(request.mutated[:3])} in place"
            )
        if request.aliased:
            return Broken(seen.call, "the policy returned the very list it was given")
    return None


def deterministic(run: Run) -> Broken | None:
    """Find a call at which a second fresh policy, given the same, returns something else."""
    again = run_policy(run.subject, run.setting, terms=run.terms, transcript=run.transcript)
    return first_difference(run.observed, again.observed)


def first_difference(first: Sequence[Observed], second: Sequence[Observed]) -> Broken | None:
    """Return the first call at which two runs differ."""
    for one, other in zip(first, second, strict=False):
        if repr(one.error) != repr(other.error) or _sent(one.request) != _sent(other.request):
            what = "two fresh policies, given the same history, return different messages"
            return Broken(one.call, what)
    return None


def _sent(request: Request | None) -> tuple[Message, ...] | None:
    return None if request is None else request.messages
