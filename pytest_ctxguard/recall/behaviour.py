"""What a model does next: whether it goes on with a long task, and calls tools that exist."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError, UsageError
from pytest_ctxguard.recall.asking import Asker, Question
from pytest_ctxguard.recall.outcomes import judged_text
from pytest_ctxguard.recall.reading_task import READ_CHAPTER, reading_task
from pytest_ctxguard.replay.values import Replay
from pytest_ctxguard.stats import Changes, Interval, changes, mcnemar, wilson
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import is_user

NextStep = Literal["calls", "unknown tool", "text", "error"]
NEXT_STEPS: tuple[NextStep, ...] = ("calls", "unknown tool", "text", "error")
"""It calls tools that it was offered; one that it was not; none; nobody knows."""
STEP_TOKENS = 96
"""Longest next step, in tokens: a call with its arguments, or the beginning of a text."""


@dataclass(frozen=True, slots=True)
class Step:
    """One next step.

    Attributes:
        id: of the draw, or ``turn 3``.
        outcome: what it was.
        tools: names of the tools it called; of an unknown tool, those that do not exist.
        text: all that it says, or the error.
    """

    id: str
    outcome: NextStep
    tools: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Steps:
    """The next steps of one condition."""

    steps: tuple[Step, ...]

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> how many steps; only those that occur."""
        counts = Tally(step.outcome for step in self.steps)
        return {outcome: counts[outcome] for outcome in NEXT_STEPS if counts[outcome]}

    def count(self, outcome: NextStep) -> int:
        """Return how many steps had an outcome."""
        return sum(step.outcome == outcome for step in self.steps)

    @property
    def of(self) -> int:
        """How many steps there are."""
        return len(self.steps)

    @property
    def goes_on(self) -> int:
        """How many called a tool that exists."""
        return self.count("calls")

    @property
    def stops(self) -> int:
        """How many called none."""
        return self.count("text")

    @property
    def unknown_tools(self) -> Mapping[str, int]:
        """Tools that do not exist, in the steps that called one -> how often."""
        names = [n for step in self.steps if step.outcome == "unknown tool" for n in step.tools]
        return dict(Tally(names))

    @property
    def interval(self) -> Interval:
        """Where the share of those that go on lies, over draws like these (Wilson, 95 %)."""
        return wilson(self.goes_on, self.of)


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """The same reading tasks with and without the notice about clearing.

    Attributes:
        without: the model is not told.
        noticed: the system message says that old results are cleared for it.
    """

    without: Steps
    noticed: Steps

    @property
    def changes(self) -> Changes:
        """The tasks in pairs: *gained* are those that go on only with the notice."""
        return changes(_hits(self.without), _hits(self.noticed))

    @property
    def p(self) -> float:
        """How likely a difference like this is where the notice changes nothing (McNemar)."""
        pairs = self.changes
        return mcnemar(len(pairs.lost), len(pairs.gained))


def _hits(steps: Steps) -> Mapping[str, str]:
    return {step.id: "hit" if step.outcome == "calls" else step.outcome for step in steps.steps}


def early_stop(
    asker: Asker,
    *,
    counter: Counter,
    draws: int = 16,
    budget: int = 8000,
    chapters: int = 40,
    seed: int = 0,
) -> EarlyStop:
    """Ask for the next step of a long reading task at a quarter of the budget (report A4).

    Args:
        asker: asks the model.
        counter: counts the tokens.
        draws: how many tasks, each asked with and without the notice.
        budget: tokens the reader is told that it has.
        chapters: of the book.
        seed: another one is another sample of tasks.

    Raises:
        UsageError: no draws, or a budget without room for a few chapters.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise UsageError(f"draws={draws!r}: give a positive number of tasks")
    tasks = [
        reading_task(n, seed=seed, budget=budget, chapters=chapters, counter=counter)
        for n in range(1, draws + 1)
    ]
    noticed = [task.noticed() for task in tasks]
    questions = [
        Question(task.messages, tools=(READ_CHAPTER,), max_tokens=STEP_TOKENS)
        for task in (*tasks, *noticed)
    ]
    ids = [task.id for task in tasks]
    steps = _asked(asker, questions, ids=[*ids, *ids], label="asking for the next step")
    return EarlyStop(Steps(steps[:draws]), Steps(steps[draws:]))


def tool_choice(asker: Asker, replay: Replay) -> Steps:
    """Ask for the next step at each user turn of a replay, as its policy sends it.

    Raises:
        UsageError: the transcript has no tools, or no call after a user message.
    """
    transcript = replay.transcript
    if not transcript.tools:
        raise UsageError(f"transcript {transcript.name!r} has no tools; there is nothing to choose")
    turns = {turn.start: number for number, turn in enumerate(transcript.turns, 1)}
    asked = [
        (f"turn {turns[step.call.history - 1]}", step.request.messages)
        for step in replay.steps
        if is_user(transcript.messages[step.call.history - 1])
    ]
    if not asked:
        raise UsageError(f"no call of transcript {transcript.name!r} follows a user message")
    questions = [
        Question(messages, tools=transcript.tools, max_tokens=STEP_TOKENS) for _, messages in asked
    ]
    label = f"asking for the next step under {replay.label or replay.policy}"
    return Steps(_asked(asker, questions, ids=[id_ for id_, _ in asked], label=label))


def _asked(
    asker: Asker, questions: Sequence[Question], *, ids: Sequence[str], label: str
) -> tuple[Step, ...]:
    answers = asker.ask(questions, label=label)
    return tuple(
        _step(id_, answer, question.tools)
        for id_, question, answer in zip(ids, questions, answers, strict=True)
    )


def _step(
    id_: str, answer: Completion | BackendError, offered: Sequence[Mapping[str, Any]]
) -> Step:
    if isinstance(answer, BackendError):
        return Step(id_, "error", (), str(answer))
    names = tuple(call.name for call in answer.tool_calls)
    known = {tool["function"]["name"] for tool in offered}
    outcome: NextStep = "text"
    if names:
        outcome = "calls" if known.issuperset(names) else "unknown tool"
        names = names if outcome == "calls" else tuple(name for name in names if name not in known)
    return Step(id_, outcome, names, judged_text(answer))
