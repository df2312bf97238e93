"""Prompt caches: what a recording lets expect of them against the cached tokens it tells.

A provider reads from its cache the longest prefix it still has. So a call that goes on from the
one before it finds that one's prompt there; one whose tools, model or history changed does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

from pytest_ctxguard.transcript.messages import Message, instructions
from pytest_ctxguard.transcript.model import Call, Transcript
from pytest_ctxguard.transcript.summary import tokens_of

SLACK = 128  # tokens; OpenAI and DeepSeek tell cached tokens in steps of 128 or 64
MINIMUM = 1024  # tokens of a prompt, below which no provider known to us caches it
KEPT_SECONDS = 300.0  # Anthropic's default; OpenAI's in-memory caches last 5 to 10 minutes

Why = Literal["predicted", "pause", "shrunk", "unrecorded", "unexplained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """A call with usage, and what the call before it left in the cache.

    Attributes:
        run: its session's place in the file.
        history: messages before it.
        kept: tokens the call before it left in the cache.
        cached: tokens that were read from the cache, as the provider told.
        predicted: what of the prefix is known to have changed; ``None``: the prefix was extended.
        pause: seconds since the call before it; ``None``: the recording has no times.
        shrunk: fewer input tokens than the call before it, although no message was taken away in
            the recording: the client sent something else than it recorded.
        headless: the recording has no instructions, or no tools, so that what changed there
            cannot be seen.
    """

    run: int
    history: int
    kept: int
    cached: int
    predicted: str | None
    pause: float | None
    shrunk: bool
    headless: bool

    @property
    def dropped(self) -> bool:
        """Whether fewer tokens were read from the cache than were kept there."""
        return self.cached < self.kept - SLACK

    @property
    def why(self) -> Why:
        """What explains a drop, the surest first."""
        if self.predicted is not None:
            return "predicted"
        if self.pause is not None and self.pause > KEPT_SECONDS:
            return "pause"
        if self.shrunk:
            return "shrunk"
        return "unrecorded" if self.headless and self.cached <= SLACK else "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseAgreement:
    """How predicted prefix breaks and recorded drops agree.

    Attributes:
        compared: calls with usage that follow one whose prompt was cached.
        to_the_token: of these, how many read exactly what was kept.
        agreed: of these, how many were predicted to break and dropped, or neither.
        drops: recorded drops.
        breaks: predicted breaks.
        both: calls that are both.
        pause: further drops after a pause longer than caches keep a prompt.
        shrunk: further drops where the provider was sent less than before.
        unrecorded: further drops to nothing, where the recording lacks instructions or tools.
        unexplained: the drops that are left.
    """

    compared: int
    to_the_token: int
    agreed: int
    drops: int
    breaks: int
    both: int
    pause: int
    shrunk: int
    unrecorded: int
    unexplained: int


def reuse(runs: Sequence[Transcript]) -> tuple[Reuse, ...]:
    """Compare each call that has usage with the one before it in its session.

    A session's first call is compared with the exchange before it in the file, where the recording
    numbers them (a client that edited its history began a new session here), and only if the two
    begin alike.
    """
    rows = []
    for before, after in _consecutive(runs):
        row = _compare(before, after)
        if row is not None:
            rows.append(row)
    return tuple(rows)


def reuse_agreement(rows: Sequence[Reuse]) -> ReuseAgreement:
    """Sum up how predictions and recorded drops agree."""
    drops = [row.why for row in rows if row.dropped]
    return ReuseAgreement(
        compared=len(rows),
        to_the_token=sum(row.cached == row.kept for row in rows),
        agreed=sum((row.predicted is not None) == row.dropped for row in rows),
        drops=len(drops),
        breaks=sum(row.predicted is not None for row in rows),
        both=drops.count("predicted"),
        pause=drops.count("pause"),
        shrunk=drops.count("shrunk"),
        unrecorded=drops.count("unrecorded"),
        unexplained=drops.count("unexplained"),
    )


@dataclass(frozen=True, slots=True)
class _Sent:
    """One call with usage."""

    number: int
    run: Transcript
    call: Call
    prompt: int
    first: bool

    def messages(self) -> tuple[Message, ...]:
        return self.run.sent(self.call)

    def told(self, key: str) -> int | None:
        return tokens_of(self.call.recorded, key)


def _consecutive(runs: Sequence[Transcript]) -> Iterator[tuple[_Sent, _Sent]]:
    """Yield pairs of calls: each with the one before it."""
    numbered: list[_Sent] = []
    for number, run in enumerate(runs):
        calls: list[_Sent] = []
        for call in run.calls:
            prompt = tokens_of(call.recorded, "prompt_tokens")
            if prompt:
                calls.append(_Sent(number, run, call, prompt, first=not calls))
        numbered += (each for each in calls if each.told("exchange"))
        yield from pairwise(calls)
    numbered.sort(key=lambda each: each.told("exchange") or 0)
    for before, after in pairwise(numbered):
        if after.first and shared_prefix(before.messages(), after.messages()):
            yield before, after


def _compare(before: _Sent, after: _Sent) -> Reuse | None:
    cached, kept = after.told("cached_tokens"), _kept(before)
    if cached is None or kept <= SLACK:
        return None
    run = after.run
    return Reuse(
        run=after.number,
        history=after.call.history,
        kept=kept,
        cached=cached,
        predicted=_change(before, after),
        pause=_seconds(before.call.recorded, after.call.recorded),
        shrunk=after.prompt < before.prompt,
        headless=not run.tools or not instructions(run.messages),
    )


def _kept(sent: _Sent) -> int:
    """Return the tokens of a call's prompt that its provider has in its cache then."""
    cached, written = sent.told("cached_tokens") or 0, sent.told("cache_written_tokens")
    if written or "claude" in str(sent.call.recorded.get("model")):
        return cached + (written or 0)  # cached where the client asked for it, and told
    whole = sent.prompt - sent.prompt % SLACK if sent.prompt >= MINIMUM else 0
    return max(cached, whole)


def _change(before: _Sent, after: _Sent) -> str | None:
    """Return what a call's request does not share with the one before it."""
    if before.call.recorded.get("model") != after.call.recorded.get("model"):
        return "model"
    if _offered(before) != _offered(after):
        return "tools"
    sent = before.messages()
    shared = shared_prefix(sent, after.messages())
    if shared == len(sent):
        return None
    between = range(before.call.history + 1, after.call.history + 1)
    compacted = any(each.at in between for each in after.run.compactions)
    return f"{'compaction' if compacted else 'history'}, message {shared}"


def _offered(sent: _Sent) -> Any:
    names = sent.call.recorded.get("tools")
    if isinstance(names, list):
        return [str(name) for name in names]
    return [str(tool["function"]["name"]) for tool in sent.run.tools]


def shared_prefix(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return how many messages two requests begin with alike, cache marks apart."""
    pairs = zip(one, other, strict=False)
    alike = min(len(one), len(other))
    return next((i for i, (a, b) in enumerate(pairs) if a is not b and _bare(a) != _bare(b)), alike)


def _bare(message: Message) -> Mapping[str, Any]:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts = [
        {key: value for key, value in part.items() if key != "cache_control"}
        if isinstance(part, dict)
        else part
        for part in content
    ]
    return {**message, "content": parts}


def _seconds(before: Mapping[str, Any], after: Mapping[str, Any]) -> float | None:
    one, other = _time(before.get("time")), _time(after.get("time"))
    if one is None or other is None:
        return None
    try:
        return (other - one).total_seconds()
    except TypeError:  # one has a time zone, the other none
        return None


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
