"""Ask a replay's probes, with the controls that make a count mean something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.recall.asking import Asker, Question
from pytest_ctxguard.recall.called import CALLED, Called, Judged, judge_told, probe_question
from pytest_ctxguard.recall.controls import ControlHits, Controls, Wanted, control_requests, linked
from pytest_ctxguard.recall.outcomes import OUTCOMES, Outcome
from pytest_ctxguard.recall.overlap import shared_words
from pytest_ctxguard.replay.values import Replay, digest
from pytest_ctxguard.transcript.messages import full_text
from pytest_ctxguard.transcript.model import Fact, Transcript

PANEL = 6
"""Wordings of a fact from which a panel says something about the fact, not about a wording."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One wording asked once.

    Attributes:
        id: ``fact/number``, stable as long as the wordings keep their order.
        wording: the question.
        outcome: what the answer amounts to.
        text: all that the answer says, or the error.
        controls: what the wording comes to without the policy.
        overlap: content words it shares with the messages that plant the fact.
        called: of a tool probe, what the call was.
    """

    id: str
    wording: str
    outcome: Outcome
    text: str
    controls: Controls
    overlap: tuple[str, ...] = ()
    called: Called = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """All wordings of one fact, asked of one replay."""

    fact: str
    trials: tuple[Trial, ...]

    @property
    def usable(self) -> tuple[Trial, ...]:
        """The trials whose wording passes both controls."""
        return tuple(trial for trial in self.trials if trial.controls.usable)

    @property
    def hits(self) -> int:
        """Usable trials that were answered."""
        return sum(trial.outcome == "hit" for trial in self.usable)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> number of usable trials; only those that occur."""
        counts = Counter(trial.outcome for trial in self.usable)
        return {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]}

    @property
    def called(self) -> Mapping[str, int]:
        """Of a tool probe: what the call was -> number of usable trials; only those that occur."""
        counts = Counter(trial.called for trial in self.usable)
        return {called: counts[called] for called in CALLED if counts[called]}

    @property
    def without_overlap(self) -> tuple[Trial, ...]:
        """The usable trials whose wording shares no word with what plants the fact."""
        return tuple(trial for trial in self.usable if not trial.overlap)

    @property
    def controls(self) -> ControlHits:
        """How many wordings, usable or not, are hits under the policy and in each control."""
        controls = [trial.controls for trial in self.trials]
        all_run = all(each.again is not None for each in controls)
        return ControlHits(
            of=len(self.trials),
            answered=_hits(trial.outcome for trial in self.trials),
            alone=_hits(each.alone for each in controls),
            without=_hits(each.without for each in controls),
            full=_hits(each.full for each in controls) if all_run else None,
            restated=_hits(each.restated for each in controls) if all_run else None,
            unstable=sum(each.unstable for each in controls) if all_run else None,
        )

    @property
    def normalised(self) -> float | None:
        """The policy's share of what can be won; see :class:`ControlHits`."""
        return self.controls.normalised


class Interviewer:
    """Asks every wording of a replay's facts, under the policy and in the controls."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._again: dict[str, tuple[Completion | BackendError, ...]] = {}

    def answers(self, replay: Replay, fact: str, *, controls: Wanted = "usable") -> Answers:
        """Ask every wording of a fact under a replay's policy.

        Args:
            replay: what was replayed.
            fact: its name.
            controls: ``usable`` runs those that tell whether a wording is usable, ``all`` every
                one. They are the same for every policy, and asked once.

        Raises:
            UsageError: the transcript has no such fact.
        """
        planted = replay.transcript.fact(fact)
        groups = questions(replay, fact, controls=controls)
        label = f"asking for {planted.name} under {replay.label or replay.policy}"
        told = iter(self._asker.ask(tuple(chain(*groups.values())), label=label))
        judged = {
            name: [judge_told(planted, question, next(told)) for question in group]
            for name, group in groups.items()
        }
        if "full" in groups:
            repeated = self._ask_again(groups["full"], label=label)
            judged["again"] = [
                judge_told(planted, question, answer)
                for question, answer in zip(groups["full"], repeated, strict=True)
            ]
        return Answers(planted.name, _trials(replay.transcript, planted, judged))

    def _ask_again(
        self, asked: Sequence[Question], *, label: str
    ) -> tuple[Completion | BackendError, ...]:
        """Ask questions that were asked before a second time, once for all policies."""
        key = digest([question.text for question in asked])
        if key not in self._again:
            self._again[key] = self._asker.ask(asked, label=label, again=True)
        return self._again[key]


def questions(
    replay: Replay, fact: str, *, controls: Wanted = "usable"
) -> Mapping[str, tuple[Question, ...]]:
    """Return what is asked for a fact: under the policy, then in each control.

    An asker remembers, so what it is asked for many facts and replays together costs nothing
    when an interviewer asks it again.

    Raises:
        UsageError: the transcript has no such fact.
    """
    planted = replay.transcript.fact(fact)
    policy = tuple(request.messages for request in replay.probes[planted.name])
    controlled = control_requests(replay.transcript, planted, wanted=controls)
    ask = partial(probe_question, planted, tools=replay.transcript.tools)
    return {
        name: tuple(ask(messages) for messages in requests)
        for name, requests in {"policy": policy, **controlled}.items()
    }


def _trials(
    transcript: Transcript, fact: Fact, judged: Mapping[str, Sequence[Judged]]
) -> tuple[Trial, ...]:
    """Return one trial per wording; ``judged`` has the policy's and each control's answers."""
    needed = linked(transcript, fact)
    said = "\n".join(full_text(transcript.messages[each.planted_at]) for each in needed)
    trials = []
    for number, wording in enumerate(fact.wordings):
        answer = judged["policy"][number]
        controls = {name: each[number].outcome for name, each in judged.items() if name != "policy"}
        trials.append(
            Trial(
                id=f"{fact.name}/{number + 1}",
                wording=wording,
                outcome=answer.outcome,
                text=answer.text,
                controls=Controls(**controls),
                overlap=shared_words(wording, said),
                called=answer.called,
            )
        )
    return tuple(trials)


def _hits(outcomes: Iterable[Outcome | None]) -> int:
    return sum(outcome == "hit" for outcome in outcomes)
