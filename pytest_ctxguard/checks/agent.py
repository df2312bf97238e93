"""What an agent does when its request is refused: said and not retried, or retried in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.server.prompt import answer_limit, prompt_key, prompt_size, task, tools_run
from pytest_ctxguard.server.refusing import is_busy

if TYPE_CHECKING:
    from pytest_ctxguard.server.chat import Received

SHOWN = 120  # characters of what the user was told


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """What an agent did against an endpoint.

    Attributes:
        refusal: what it met, for reports.
        too_long: whether only a smaller request could be answered.
        requests: what it sent, in order, with the status each was answered with.
        said: what its user was told; None when it raised instead.
        raised: what it raised.
        alerts: the alerts it raised, one text each.
    """

    refusal: str
    too_long: bool
    requests: tuple[Received, ...]
    said: str | None = None
    raised: BaseException | None = None
    alerts: tuple[str, ...] = ()

    @property
    def tools_run(self) -> tuple[str, ...]:
        """The tools it ran, by the results it sent, in order."""
        calls: dict[str, str] = {}
        for request in self.requests:
            calls |= {id_: name for id_, name in tools_run(request.body) if id_ not in calls}
        return tuple(calls.values())

    @property
    def refused(self) -> tuple[int, ...]:
        """Which requests were refused for good, by index."""
        return tuple(i for i, r in enumerate(self.requests) if _final(r))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPromise:
    """What an agent is expected to do.

    Attributes:
        says: regular expression that the text its user reads must contain; None: not judged.
        sends: how many requests it sends in all; None: not judged.
        runs: the tools it must have run, in this order; None: not judged.
        window: tokens that prompt and reserved answer may have together; None: not judged.
    """

    says: str | None = None
    sends: int | None = None
    runs: Sequence[str] | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.runs, str):
            raise UsageError("ctx_agent: runs lists names of tools")
        try:
            re.compile(self.says or "")
        except re.error as error:
            raise UsageError(f"ctx_agent: says is no regular expression ({error})") from None

    def judge(self, run: AgentRun) -> Judgement:
        """Judge one run."""
        found = (
            _resent(run),
            _not_smaller(run),
            _not_retried(run),
            _sends(run, self.sends),
            _unsaid(run, self.says),
            _alerted(run),
            _stopped_early(run, self.runs),
            _over_window(run, self.window),
        )
        refused = sum((r.status or 0) >= 400 for r in run.requests)
        summary = f"{len(run.requests)} requests, {refused} refused"
        findings = tuple(finding for finding in found if finding)
        return Judgement(f"agent({run.refusal})", summary, findings)


def _final(request: Received) -> bool:
    status = request.status or 0
    return status >= 400 and not is_busy(status)


def _where(run: AgentRun, index: int) -> str:
    return f"request {index + 1} of {len(run.requests)}, {run.requests[index].path}"


def _resent(run: AgentRun) -> Finding | None:
    """Find a prompt that was sent again after it was refused for good."""
    keys = [prompt_key(request.body) for request in run.requests]
    again = [j for j, key in enumerate(keys) if any(i < j and keys[i] == key for i in run.refused)]
    if not again:
        return None
    return Finding(
        rule="ctx_agent.resent",
        what="a refused request was sent again unchanged",
        where=_where(run, again[0]),
        measured=f"{len(again) + 1} identical requests",
        allowed="1: the same request gets the same answer",
        why="the user waits, and may pay, for a refusal that is already known",
        remedy="retry 408, 409, 425, 429 and 5xx only; after any other 4xx shorten the request, "
        "or tell the user. In the providers' clients: max_retries leaves 400 alone, a retry "
        "decorator of your own does not",
    )


def _not_smaller(run: AgentRun) -> Finding | None:
    """Find a request that follows a refusal as too long, is no shorter, and is refused, too.

    Another session, a second sub-agent's for instance, may meet a refusal of its own.
    """
    if not run.too_long:
        return None
    keys = [prompt_key(request.body) for request in run.requests]
    sizes = [prompt_size(request.body) for request in run.requests]
    pairs = [
        (i, j)
        for i in run.refused
        for j in run.refused
        if j > i and sizes[j] >= sizes[i] and keys[j] != keys[i] and _same_session(run, i, j)
    ]
    if not pairs:
        return None
    i, j = pairs[0]
    return Finding(
        rule="ctx_agent.not-smaller",
        what="after a refusal as too long came a request that was no smaller",
        where=_where(run, j),
        measured=f"{sizes[j]:,} characters of prompt",
        allowed=f"fewer than the {sizes[i]:,} of request {i + 1}, which was refused",
        why="it is refused again",
        remedy="shorten the history before the next request, and stop when nothing more can go",
    )


def _same_session(run: AgentRun, i: int, j: int) -> bool:
    """Tell whether two requests are of one session, and leave the model the same room."""
    a, b = run.requests[i].body, run.requests[j].body
    same_room = a.get("model") == b.get("model") and answer_limit(a) == answer_limit(b)
    return same_room and task(a) == task(b)


def _not_retried(run: AgentRun) -> Finding | None:
    """Find a request that a busy server put off and that never came again."""
    keys = [prompt_key(request.body) for request in run.requests]
    busy = [i for i, r in enumerate(run.requests) if is_busy(r.status or 0)]
    given_up = [i for i in busy if keys[i] not in keys[i + 1 :]]
    if not given_up:
        return None
    index = given_up[0]
    raised = f", and raised {run.raised!r}" if run.raised else ""
    return Finding(
        rule="ctx_agent.not-retried",
        what=f"a request that met status {run.requests[index].status} was not sent again",
        where=_where(run, index),
        measured=f"{keys.count(keys[index])} sends{raised}",
        allowed="one more at least: a busy server answers later",
        why="the user loses a turn to a passing state",
        remedy="retry 408, 409, 425, 429 and 5xx, after the time of Retry-After",
    )


def _sends(run: AgentRun, sends: int | None) -> Finding | None:
    if sends is None or len(run.requests) == sends:
        return None
    return Finding(
        rule="ctx_agent.sends",
        what=f"the agent sent {len(run.requests)} requests instead of {sends}",
        where=run.refusal,
        measured=f"{len(run.requests)} requests: "
        + ", ".join(str(request.status) for request in run.requests[:12]),
        allowed=f"{sends}",
        why="every request more is time and money; one fewer is work not done",
        remedy="count what loops, retries and compactions send",
    )


def _unsaid(run: AgentRun, says: str | None) -> Finding | None:
    if says is None or (run.said is not None and re.search(says, run.said)):
        return None
    told = "nothing" if run.said is None else repr(run.said[:SHOWN])
    return Finding(
        rule="ctx_agent.unsaid",
        what="the user was not told what to do",
        where=run.refusal,
        measured=f"raised {run.raised!r}" if run.raised else told,
        allowed=f"a text that matches {says!r}",
        why="a refusal as too long is something the user can act on, if it is said",
        remedy="catch the refusal where the answer is made, and say plainly what happened, what "
        "is kept, and what to do now",
    )


def _alerted(run: AgentRun) -> Finding | None:
    """Find an alert over what only the user can change; a busy server's is someone's to see."""
    if not run.alerts or not run.refused:
        return None
    return Finding(
        rule="ctx_agent.alerted",
        what="a refusal raised an alert",
        where=run.refusal,
        measured=f"{len(run.alerts)} alerts, first: {run.alerts[0][:SHOWN]!r}",
        allowed="0",
        why="someone is paged for what only the user can change",
        remedy="log a refusal that the user is told of below the level that pages",
    )


def _stopped_early(run: AgentRun, runs: Sequence[str] | None) -> Finding | None:
    if runs is None or run.tools_run == tuple(runs):
        return None
    return Finding(
        rule="ctx_agent.course",
        what="the agent did not run the tools that the model called for",
        where=run.refusal,
        measured=", ".join(run.tools_run) or "no tool",
        allowed=", ".join(runs) or "no tool",
        why="a task that is left half done looks finished, and work nobody asked for looks asked",
        remedy="take only the model's own answer for the end of a turn, never a summary's",
    )


def _over_window(run: AgentRun, window: int | None) -> Finding | None:
    """Find a request whose prompt and reserved answer are beyond the window together."""
    if window is None:
        return None
    over = [
        (i, r.prompt_tokens, answer_limit(r.body))
        for i, r in enumerate(run.requests)
        if r.prompt_tokens is not None and r.prompt_tokens + answer_limit(r.body) > window
    ]
    if not over:
        return None
    index, prompt, answer = over[0]
    return Finding(
        rule="ctx_agent.over-window",
        what="prompt and reserved answer are beyond the window together",
        where=_where(run, index),
        measured=f"{prompt:,} + {answer:,} = {prompt + answer:,} tokens",
        allowed=f"{window:,} tokens; {prompt + answer - window:,} fewer",
        why="the provider counts both, and refuses the request",
        remedy="give the policy the window less the answer's room as its budget",
    )
