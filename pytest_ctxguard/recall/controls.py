"""What an answer is compared with: the same wording over other requests than the policy's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ctxguard.policies.facts_only import FactsOnly
from pytest_ctxguard.recall.outcomes import Outcome
from pytest_ctxguard.replay.values import probe_point
from pytest_ctxguard.transcript.messages import Message, full_text, instructions
from pytest_ctxguard.transcript.model import Fact, Transcript

Wanted = Literal["usable", "all"]
WANTED: Mapping[Wanted, tuple[str, ...]] = {
    "usable": ("alone", "without"),
    "all": ("alone", "without", "full", "restated"),
}
"""Which controls are run: those that tell whether a wording is usable, or every one."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।])|\n+")


@dataclass(frozen=True, slots=True)
class Controls:
    """What one wording comes to without the policy; ``None``: not run.

    Attributes:
        alone: outcome with nothing but the fact's messages; must be a hit.
        without: outcome with nothing at all; must not be a hit.
        full: outcome with the whole history.
        restated: outcome with the whole history, and the fact said again in the question's own
            message: the most that any policy can reach.
        again: outcome of the whole history asked a second time; must be that of the first.
    """

    alone: Outcome
    without: Outcome
    full: Outcome | None = None
    restated: Outcome | None = None
    again: Outcome | None = None

    @property
    def usable(self) -> bool:
        """Whether the model answers it from the fact alone, and never without it."""
        return self.alone == "hit" and self.without not in ("hit", "error")

    @property
    def reason(self) -> str:
        """Why it is unusable, or empty."""
        if self.usable:
            return ""
        if self.without == "hit":
            return "guessed without the fact"
        if self.alone != "hit":
            return f"{self.alone} with the fact alone"
        return f"{self.without} without the fact"

    @property
    def unstable(self) -> bool:
        """Whether the same request had two outcomes."""
        return self.again is not None and self.again != self.full


@dataclass(frozen=True, slots=True)
class ControlHits:
    """How many of a fact's wordings are hits, usable or not; ``None``: not run.

    Attributes:
        of: wordings.
        answered: under the policy.
        alone: with nothing but the fact's messages.
        without: with nothing at all: guesses.
        full: with the whole history.
        restated: with the whole history, and the fact said again at its end.
        unstable: wordings whose outcome was another one when the same request was asked again.
    """

    of: int
    answered: int
    alone: int
    without: int
    full: int | None = None
    restated: int | None = None
    unstable: int | None = None

    @property
    def normalised(self) -> float | None:
        """The policy's share of what can be won: (answered - without) / (restated - without).

        Below 0 where it is answered less often than guessed, above 1 where the fact restated is
        answered less often than under the policy. ``None`` where nothing can be won, or where
        this was not asked.
        """
        if self.restated is None or self.restated <= self.without:
            return None
        return (self.answered - self.without) / (self.restated - self.without)


def control_requests(
    transcript: Transcript, fact: Fact, *, wanted: Wanted
) -> Mapping[str, tuple[tuple[Message, ...], ...]]:
    """Return the requests of each control, one per wording.

    *alone* has the instructions and the messages that plant the fact and those it links to, of
    a tool round the whole round: a result without its call is refused by providers. *without*
    has the instructions that do not have any of these values. Both depend on the transcript and
    the fact, not on the policy, as do the others.
    """
    history = transcript.messages[: probe_point(transcript, fact)]
    needed = linked(transcript, fact)
    facts_only = FactsOnly(planted_at=[each.planted_at for each in needed])
    lead = [
        message
        for message in history[: instructions(history)]
        if not any(each.mentions(full_text(message)) for each in needed)
    ]
    said = "\n".join(dict.fromkeys(planting_sentence(transcript, each) for each in needed))
    make: Mapping[str, Callable[[str], Sequence[Message]]] = {
        "alone": lambda wording: facts_only([*history, _user(wording)]),
        "without": lambda wording: [*lead, _user(wording)],
        "full": lambda wording: [*history, _user(wording)],
        "restated": lambda wording: [*history, _user(f"{said}\n\n{wording}")],
    }
    return {name: tuple(tuple(make[name](w)) for w in fact.wordings) for name in WANTED[wanted]}


def linked(transcript: Transcript, fact: Fact) -> tuple[Fact, ...]:
    """Return a fact and all those it links to, directly or not, in the order of planting."""
    found = {fact.name: fact}
    waiting = list(fact.links)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = transcript.fact(name)
            waiting += found[name].links
    return tuple(sorted(found.values(), key=lambda each: each.planted_at))


def planting_sentence(transcript: Transcript, fact: Fact) -> str:
    """Return the sentences, or lines, of the planting message that have the fact's value.

    All of its text where the value stands in none of them whole.
    """
    text = full_text(transcript.messages[fact.planted_at]).strip()
    return " ".join(part for part in _sentences(text) if fact.finds(fact.value, part)) or text


def _sentences(text: str) -> Iterator[str]:
    return (part.strip() for part in SENTENCE_END.split(text) if part.strip())


def _user(text: str) -> Message:
    return {"role": "user", "content": text}
