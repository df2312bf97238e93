"""Ask a replay's probes, with the two controls that make a count mean something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ctxguard.backend import Backend, Completion, complete_many
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.progress import Progress, no_progress
from pytest_ctxguard.recall.outcomes import OUTCOMES, Outcome, judge, judged_text
from pytest_ctxguard.replay.values import Replay, digest
from pytest_ctxguard.transcript.messages import Message, is_instruction
from pytest_ctxguard.transcript.model import Fact, Transcript

ANSWER_TOKENS = 48
"""Longest answer to a probe, in tokens."""


@dataclass(frozen=True, slots=True)
class Control:
    """Whether a wording can measure anything.

    Attributes:
        alone: outcome with the fact's message alone in the request; must be a hit.
        without: outcome with no transcript at all; must not be a hit.
    """

    alone: Outcome
    without: Outcome

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


@dataclass(frozen=True, slots=True)
class Trial:
    """One wording asked once.

    Attributes:
        id: ``fact/number``, stable as long as the wordings keep their order.
        wording: the question.
        outcome: what the answer amounts to.
        text: the judged text, or the error.
        control: whether the wording is usable.
    """

    id: str
    wording: str
    outcome: Outcome
    text: str
    control: Control


@dataclass(frozen=True, slots=True)
class Answers:
    """All wordings of one fact, asked of one replay."""

    fact: str
    trials: tuple[Trial, ...]

    @property
    def usable(self) -> tuple[Trial, ...]:
        """The trials whose wording passes both controls."""
        return tuple(trial for trial in self.trials if trial.control.usable)

    @property
    def hits(self) -> int:
        """Usable trials that were answered."""
        return sum(trial.outcome == "hit" for trial in self.usable)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> number of usable trials; only those that occur."""
        counts = Counter(trial.outcome for trial in self.usable)
        return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}


class Interviewer:
    """Asks a backend, and remembers: greedy decoding gives one request one answer."""

    def __init__(self, backend: Backend, *, progress: Progress = no_progress) -> None:
        self.backend = backend
        self._progress = progress
        self._known: dict[str, Completion | BackendError] = {}

    def answers(self, replay: Replay, fact: str) -> Answers:
        """Ask every wording of a fact under a replay's policy.

        Raises:
            UsageError: the transcript has no such fact.
        """
        transcript = replay.transcript
        planted = transcript.fact(fact)
        label = f"asking for {planted.name} under {replay.label or replay.policy}"
        self._progress(label, 0, len(planted.wordings))
        probes = [request.messages for request in replay.probes[planted.name]]
        asked = self._ask(transcript, planted, probes)
        # The controls come after, so that the wordings find their common prefix still computed.
        self._progress(label, len(asked), len(planted.wordings))
        controls = self.controls(transcript, planted)
        trials = [
            Trial(f"{planted.name}/{number}", wording, outcome, text, control)
            for number, (wording, (outcome, text), control) in enumerate(
                zip(planted.wordings, asked, controls, strict=True), 1
            )
        ]
        return Answers(planted.name, tuple(trials))

    def controls(self, transcript: Transcript, fact: Fact) -> tuple[Control, ...]:
        """Ask each wording with the fact alone, and with nothing."""
        system = [m for m in transcript.messages[:1] if is_instruction(m)]
        planted = transcript.messages[fact.planted_at]
        probes = [{"role": "user", "content": wording} for wording in fact.wordings]
        alone = self._ask(transcript, fact, [[*system, planted, probe] for probe in probes])
        without = self._ask(transcript, fact, [[*system, probe] for probe in probes])
        return tuple(
            Control(alone=first[0], without=second[0])
            for first, second in zip(alone, without, strict=True)
        )

    def _ask(
        self, transcript: Transcript, fact: Fact, requests: Sequence[Sequence[Message]]
    ) -> list[tuple[Outcome, str]]:
        """Return outcome and judged text, or the error, of each request."""
        answered: list[tuple[Outcome, str]] = []
        completions = self._complete(requests, transcript.tools)
        for messages, completion in zip(requests, completions, strict=True):
            if isinstance(completion, BackendError):
                answered.append(("error", str(completion)))
            else:
                text = judged_text(completion)
                answered.append((judge(text, fact, messages), text))
        return answered

    def _complete(
        self, requests: Sequence[Sequence[Message]], tools: Sequence[Mapping[str, Any]]
    ) -> list[Completion | BackendError]:
        """Answer each request once; those not asked before go to the backend together."""
        keys = [digest([messages, tools]) for messages in requests]
        missing = {
            key: messages
            for key, messages in zip(keys, requests, strict=True)
            if key not in self._known
        }
        answers = complete_many(
            self.backend, list(missing.values()), tools=tools, max_tokens=ANSWER_TOKENS
        )
        self._known.update(zip(missing, answers, strict=True))
        return [self._known[key] for key in keys]
