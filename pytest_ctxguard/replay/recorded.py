"""A recording as a replay: its steps are the requests that were really sent, by no policy of ours.

A client that edits or cuts its history leaves several runs in one file. Their messages are joined
into one history: each once, in the order in which it was first sent or answered.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_ctxguard.errors import UsageError
from pytest_ctxguard.prefix.providers import told_provider
from pytest_ctxguard.prefix.recorded import Traffic, recorded_calls, recorded_requests
from pytest_ctxguard.prefix.sent import Sent, as_json, bare
from pytest_ctxguard.replay.origin import INSERTED, Origin
from pytest_ctxguard.replay.values import Replay, Request, Step
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.facts import check_named
from pytest_ctxguard.transcript.messages import Message, full_text
from pytest_ctxguard.transcript.model import Call, Fact, Transcript
from pytest_ctxguard.transcript.runs import name as tool_name

POLICY = "as recorded"


def as_recorded(
    runs: Sequence[Transcript],
    *,
    counter: Counter,
    facts: Sequence[Fact] = (),
    provider: str = "",
    label: str = "",
) -> Replay:
    """Return the recorded requests of one or more runs as a replay without probes.

    Args:
        runs: of one file.
        counter: exact counter of requests.
        facts: more facts, beside those of a single run's own; of several runs, messages are
            numbered through as they are joined.
        provider: name of the cache rules to go by; empty: by the models on record.
        label: the name given to it.

    Raises:
        UsageError: there is no call, a fact is not stated where it is said to be planted, or two
            have one name.
    """
    called = recorded_calls(runs)
    requests = recorded_requests(runs, counter=counter)
    calls = tuple(replace(call, index=index) for index, (_, call) in enumerate(called))
    uncut = len(runs) == 1
    if uncut:
        transcript = runs[0]
        places = {id(message): at for at, message in enumerate(transcript.messages)}
        origins = [
            tuple(Origin(at) if (at := places.get(id(m))) is not None else INSERTED for m in each)
            for each in (sent.messages for sent in requests)
        ]
    else:
        transcript, calls, origins = _joined(runs[0], calls, requests)
    transcript = transcript.with_facts(*facts)
    _check_facts(transcript)
    return Replay(
        transcript=transcript,
        policy=POLICY,
        label=label,
        budget=None,
        counter=counter,
        steps=tuple(
            _step(transcript, call, sent, origins=own, counter=counter)
            for call, sent, own in zip(calls, requests, origins, strict=True)
        ),
        traffic=Traffic(requests, provider or told_provider(runs), uncut),
    )


def _step(
    transcript: Transcript,
    call: Call,
    sent: Sent,
    *,
    origins: tuple[Origin, ...],
    counter: Counter,
) -> Step:
    history = transcript.messages[: call.history]
    acted = sent.messages != history
    whole = counter.count(history, tools=sent.tools) if acted else sent.tokens
    request = Request(
        messages=sent.messages,
        origins=origins,
        tokens=sent.tokens,
        acted=acted,
        given_tokens=whole,
        cut=acted,
        tools=sent.tools,
    )
    return Step(call, request, whole)


@dataclass(slots=True)
class _History:
    """Messages, each once however often it was sent."""

    messages: list[Message] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)

    def take(self, sent: Sent) -> tuple[Origin, ...]:
        """Add what is new in a request; return where each of its messages stands."""
        last, found = -1, []
        for message in sent.messages:
            known = self.places.get(self._key(message), [])
            after = bisect_right(known, last)
            if after < len(known):
                last = known[after]
                found.append(Origin(last))
            else:
                found.append(Origin(self.add(message)))
        return tuple(found)

    def add(self, message: Message) -> int:
        """Add a message at the end; return its place."""
        self.messages.append(message)
        self.places.setdefault(self._key(message), []).append(len(self.messages) - 1)
        return len(self.messages) - 1

    def _key(self, message: Message) -> str:
        if id(message) not in self.keys:  # the runs hold them all
            self.keys[id(message)] = as_json(bare(message))
        return self.keys[id(message)]


def _joined(
    first: Transcript, calls: Sequence[Call], requests: Sequence[Sent]
) -> tuple[Transcript, tuple[Call, ...], list[tuple[Origin, ...]]]:
    """Join the requests of several runs into one history, with its calls and their origins."""
    history = _History()
    placed, origins = [], []
    recorded: dict[int, Any] = {}
    tools: dict[str, Any] = {}
    for call, sent in zip(calls, requests, strict=True):
        origins.append(history.take(sent))
        placed.append(replace(call, history=len(history.messages)))
        for tool in sent.tools:
            tools.setdefault(tool_name(tool), tool)
        if sent.answer is not None:
            recorded[history.add(sent.answer)] = call.recorded
    transcript = Transcript(
        name=first.name.removesuffix("-0"),
        messages=tuple(history.messages),
        tools=tuple(tools.values()),
        recorded=recorded,
        provenance=first.provenance,
    )
    return transcript, tuple(placed), origins


def _check_facts(transcript: Transcript) -> None:
    """Refuse a fact that is not where it is said to be: it could be lost unseen.

    Raises:
        UsageError: with the first message that states it; or two have one name.
    """
    check_named(transcript.facts)
    texts = [full_text(message) for message in transcript.messages]
    for fact in transcript.facts:
        if fact.planted_at < len(texts) and fact.mentions(texts[fact.planted_at]):
            continue
        stated = next((at for at, text in enumerate(texts) if fact.mentions(text)), None)
        where = "no message states it" if stated is None else f"message {stated} is the first to"
        raise UsageError(
            f"fact {fact.name!r}: message {fact.planted_at} of {transcript.name!r} does not state "
            f"{fact.value!r}; {where}"
        )
