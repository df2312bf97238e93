"""``ctx_honest``: the policy does what it is there for, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_ctxguard.checks.counting import unseen
from pytest_ctxguard.checks.finding import Finding, Judgement
from pytest_ctxguard.checks.promise import Case, Tier, describe, require
from pytest_ctxguard.checks.requests import named_requests
from pytest_ctxguard.replay.values import Request
from pytest_ctxguard.transcript.messages import (
    Message,
    content_text,
    instructions,
    is_instruction,
    turn_starts,
)

PHRASES = (
    "cleared", "removed", "omitted", "left out", "trimmed", "truncated", "shortened", "elided",
    "compacted", "skipped", "summar",
)  # fmt: skip
Announce = Literal["cleared", "dropped", "never"]
Check = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Honest:
    """The policy acts, never fails open, never grows what is too large, and says what it cleared.

    Attributes:
        announce: what the model must be told of: messages whose content was ``cleared`` or
            shortened, ``dropped`` ones too, or ``never`` any.
        phrases: one of them, in upper or lower case, must stand in the instructions, in what the
            policy put in, or in a message it shortened; none: :data:`PHRASES`.
    """

    announce: Announce = "cleared"
    phrases: Sequence[str] = ()

    marker: ClassVar[str] = "ctx_honest"
    tier: ClassVar[Tier] = "structure"
    usage: ClassVar[str] = 'ctx_honest(announce="cleared", phrases=("cleared", "left out"))'

    def __post_init__(self) -> None:
        known = self.announce in ("cleared", "dropped", "never")
        require(known, self, f"announce={self.announce!r} is not cleared, dropped or never")
        texts = not isinstance(self.phrases, str) and all(
            isinstance(phrase, str) and phrase for phrase in self.phrases
        )
        require(texts, self, f"phrases={self.phrases!r} lists no texts")

    @property
    def subject(self) -> str:
        """One such promise per test."""
        return ""

    def judge(self, case: Case) -> Judgement:
        """Compare each request with what the policy was handed."""
        requests = list(named_requests(case.replay))
        cut = sum(request.cut for _, request in requests)
        summary = f"{cut} of {len(requests)} requests cut"
        checks: tuple[Check, ...] = (
            _same_list,
            _infeasible,
            _fail_open,
            _grew,
            self._silent,
            _blind,
        )
        if not case.replay.acted:
            checks = (_idle, _same_list, _infeasible)
        findings = tuple(finding for check in checks for finding in check(case))
        return Judgement(describe(self), summary, findings, requests=len(requests))

    @property
    def _phrases(self) -> Sequence[str]:
        return self.phrases or PHRASES

    def _silent(self, case: Case) -> Iterator[Finding]:
        silent = [
            (place, request)
            for place, request in named_requests(case.replay)
            if self._cleared(request) and not self._announced(request)
        ]
        if silent:
            place, request = silent[0]
            edited = next((i for i, o in enumerate(request.origins) if o.edited), None)
            where = [] if edited is None else [f"message {edited}"]
            shown = "" if edited is None else content_text(request.messages[edited])[:80]
            yield Finding(
                rule=f"{self.marker}.not-announced",
                what=f"messages were {self.announce}, and nothing tells the model",
                where=case.place(place, *where),
                measured=f"{len(silent)} requests without a notice"
                + (f": {shown!r}" * bool(shown)),
                allowed=f"one of: {', '.join(self._phrases)}",
                why="a model that does not know stops early to save space, or takes the rest for "
                "all there was",
                remedy="say in the placeholder or in the instructions that old content is cleared "
                "and can be read again; other wordings: ctx_honest(phrases=…)",
                requests=len(silent),
            )

    def _cleared(self, request: Request) -> bool:
        if self.announce == "never":
            return False
        if any(origin.edited for origin in request.origins):
            return True
        kept = {origin.index for origin in request.origins}
        newest = max((index for index in kept if index is not None), default=-1)
        return self.announce == "dropped" and (
            not kept or any(index not in kept for index in range(newest))
        )

    def _announced(self, request: Request) -> bool:
        texts = [
            content_text(message).casefold()
            for message, origin in zip(request.messages, request.origins, strict=True)
            if is_instruction(message) or origin.index is None or origin.edited
        ]
        return any(phrase.casefold() in text for phrase in self._phrases for text in texts)


def _idle(case: Case) -> Iterator[Finding]:
    yield Finding(
        rule="ctx_honest.idle",
        what="the policy never changed a request",
        where=case.place(),
        measured=f"0 of {len(case.replay.steps)} requests",
        allowed="at least 1",
        why="nothing was tested: whatever it promises about its cuts, it made none",
        remedy="give a longer transcript or a smaller budget, and check that the budget "
        "reaches the policy",
        requests=len(case.replay.steps),
    )


def _same_list(case: Case) -> Iterator[Finding]:
    places = [place for place, request in named_requests(case.replay) if request.aliased]
    if places:
        yield Finding(
            rule="ctx_honest.same-list",
            what="the policy returned the very list it was given",
            where=case.place(places[0]),
            measured=f"{len(places)} requests",
            allowed="a list of its own",
            why="a caller that clears its list and refills it from the result sends nothing",
            remedy="return list(messages)",
            requests=len(places),
        )


def _fail_open(case: Case) -> Iterator[Finding]:
    budget = case.replay.budget
    over = [
        (place, request)
        for place, request in named_requests(case.replay)
        if budget is not None
        and request.tokens > budget
        and not request.cut
        and _tokens(case, least(request.messages)) <= budget
    ]
    if over:
        place, request = max(over, key=lambda item: item[1].tokens)
        yield Finding(
            rule="ctx_honest.fail-open",
            what="the policy returned its input although that is over the budget",
            where=case.place(place),
            measured=f"{request.tokens} tokens, in {len(over)} requests uncut",
            allowed=f"{budget} tokens; instructions, task and newest round alone have "
            f"{_tokens(case, least(request.messages))}",
            why="the provider refuses it, or it costs what the policy was to save",
            remedy="look for an error it swallows, an estimate that errs low, or a place to "
            "cut that this history does not have",
            requests=len(over),
        )


def _infeasible(case: Case) -> Iterator[Finding]:
    budget = case.replay.budget
    if budget is None:
        return
    messages = case.replay.transcript.messages
    beyond = [
        (tokens, step)
        for step in case.replay.steps
        if step.request.tokens > budget  # else it was met, by shortening what is new
        and (tokens := _tokens(case, floor(messages[: step.call.history]))) > budget
    ]
    if beyond:
        most, step = max(beyond, key=lambda item: item[0])
        history = messages[: step.call.history]
        fixed = _tokens(case, history[: instructions(history)])
        yield Finding(
            rule="ctx_honest.infeasible",
            what="no policy can meet this budget",
            where=case.place(f"call {step.call.index}"),
            measured=f"{most} tokens without any history: {fixed} of instructions, tools and "
            "template, and the newest user message",
            allowed=f"{budget} tokens",
            why="every cut ends over the budget, so a policy that retries never ends",
            remedy=f"the smallest budget that works here is {most}, plus what is to be kept",
            requests=len(beyond),
        )


def _grew(case: Case) -> Iterator[Finding]:
    budget = case.replay.budget
    grown = [
        (place, request)
        for place, request in named_requests(case.replay)
        if request.tokens > request.given_tokens > 0
        and (request.summaries or (budget is not None and request.given_tokens > budget))
    ]
    if grown:
        place, request = max(grown, key=lambda item: item[1].tokens - item[1].given_tokens)
        yield Finding(
            rule="ctx_honest.grew",
            what="the policy made a request larger that it was to make smaller",
            where=case.place(place),
            measured=f"{request.given_tokens} tokens given, {request.tokens} sent; "
            f"{len(grown)} requests grew",
            allowed="no more than was given",
            why="it is refused all the same, or costs more than without a policy",
            remedy="compare both, and send the smaller one",
            requests=len(grown),
        )


def _blind(case: Case) -> Iterator[Finding]:
    parts = unseen(case)
    if parts:
        yield Finding(
            rule="ctx_honest.blind-counter",
            what=f"the policy's counter does not see {' and '.join(parts)}",
            where=case.place(),
            measured=f"what it keeps does not depend on the size of {', '.join(parts)}",
            allowed="everything that is sent is counted",
            why="requests grow past the budget by all that is not counted",
            remedy="count the whole request: the argument `count` of a replay does, and "
            "ThreeStepFit estimates it",
        )


def least(messages: Sequence[Message]) -> list[Message]:
    """Return a small legal request: instructions, newest user message, newest round or answer."""
    head = floor(messages)
    users = turn_starts(messages)
    after = users[-1] + 1 if users else instructions(messages)
    answers = [i for i in range(after, len(messages)) if messages[i].get("role") == "assistant"]
    return [*head, *(messages[answers[-1] :] if answers else ())]


def floor(messages: Sequence[Message]) -> list[Message]:
    """Return what no policy can leave out: the leading instructions and the newest user message."""
    users = turn_starts(messages)
    return [*messages[: instructions(messages)], *(messages[i] for i in users[-1:])]


def _tokens(case: Case, messages: Sequence[Message]) -> int:
    replay = case.replay
    return replay.counter.count(messages, tools=replay.transcript.tools)
