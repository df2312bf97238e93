"""Ask a backend many questions: each once, those with a common beginning together.

The order in which questions are asked, and how many go to the backend at once, changes the time
it takes and no answer. What an earlier run asked and finished is not asked again, see
:mod:`pytest_ctxguard.recall.store`.
"""

from __future__ import annotations

import hashlib
import json
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from pytest_ctxguard.backend import (
    Backend,
    Completion,
    ToolChoice,
    complete_many,
    fingerprint,
)
from pytest_ctxguard.errors import BackendError
from pytest_ctxguard.progress import Progress, no_progress
from pytest_ctxguard.transcript.messages import Message

if TYPE_CHECKING:
    from pytest_ctxguard.recall.store import Store

ANSWER_TOKENS = 48
"""Longest answer to a probe, in tokens."""
GROUP = 8
"""Questions handed to the engine at once: what a killed run loses, at most."""
ROUNDS = 4
"""Questions handed to a server at once, by those it answers at once: few wait for the slowest."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request to the model, asked greedily.

    Attributes:
        messages: the request.
        tools: the tool definitions offered with it.
        tool_choice: as for :meth:`~pytest_ctxguard.backend.Backend.complete`.
        max_tokens: longest answer, in tokens.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = ANSWER_TOKENS

    @property
    def text(self) -> str:
        """The question as one line; what two prompts share at their beginnings, theirs do, too."""
        return json.dumps(
            [self.max_tokens, self.tool_choice, self.tools, self.messages], default=str
        )

    def asked_like(self, other: Question) -> bool:
        """Tell whether two questions can be asked together: they differ in their messages only."""
        return (self.max_tokens, self.tool_choice, self.tools) == (
            other.max_tokens,
            other.tool_choice,
            other.tools,
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """What asking has taken so far.

    Attributes:
        asked: questions the backend answered.
        kept: questions whose answers an earlier run has kept.
        remembered: questions that this run had asked before.
        prompt_tokens: length of the prompts that were asked or kept, in tokens.
        computed_tokens: how many of those were computed: no kept answer, no kept prefix.
        completion_tokens: tokens generated.
        seconds: that the backend took; where several processes wait for one model, of all of them.
    """

    asked: int = 0
    kept: int = 0
    remembered: int = 0
    prompt_tokens: int = 0
    computed_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Return the sum, field by field."""
        return Spent(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: Spent) -> Spent:
        """Return what was added since, field by field."""
        return Spent(*map(operator.sub, astuple(self), astuple(other)))


class Asker:
    """Asks a backend, and remembers: greedy decoding gives one question one answer.

    Args:
        backend: what answers.
        progress: told the label, questions done and questions in all.
        store: where answers are kept for later runs; only those of a backend that has a
            ``fingerprint``.
        clock: seconds, for ``spent``.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        progress: Progress = no_progress,
        store: Store | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend = backend
        self._progress, self._clock = progress, clock
        self._fingerprint = fingerprint(backend)
        self._store = store if self._fingerprint is not None else None
        self._known: dict[str, Completion | BackendError] = {}
        self.spent = Spent()

    def ask(
        self, questions: Sequence[Question], *, label: str = "", again: bool = False
    ) -> tuple[Completion | BackendError, ...]:
        """Answer each question, in order; an error takes its answer's place.

        Args:
            questions: what is asked.
            label: what it is asked for, for the progress.
            again: ask the backend whatever is remembered or kept, and keep nothing: this tells
                whether one question has one answer.

        Raises:
            ModelError: the model was lost on the way; answers it gave before are kept.
        """
        texts = [question.text for question in questions]
        asked = dict(zip(texts, questions, strict=True))
        if again:
            found: dict[str, Completion | BackendError] = {}
            for answers in self._ask_groups(asked, label=label):
                found |= answers
            return tuple(found[text] for text in texts)
        new = {text: each for text, each in asked.items() if _hash(text) not in self._known}
        self._spend(Spent(remembered=len(texts) - len(new)))
        missing = {text: each for text, each in new.items() if not self._recalled(text)}
        for answers in self._ask_groups(missing, label=label, known=len(new) - len(missing)):
            self._remember(answers)
        return tuple(self._known[_hash(text)] for text in texts)

    def _ask_groups(
        self, questions: Mapping[str, Question], *, label: str, known: int = 0
    ) -> Iterator[dict[str, Completion | BackendError]]:
        """Ask group by group, and yield each one's answers; ``known`` is for the progress."""
        done, total = known, known + len(questions)
        for group in grouped(questions, at_once=getattr(self.backend, "at_once", 0)):
            self._progress(label, done, total)
            yield self._ask_together(group)
            done += len(group)
        if questions:
            self._progress(label, done, total)

    def _recalled(self, text: str) -> bool:
        """Look a question up in the store."""
        kept = self._store.get(self._stored_as(text)) if self._store is not None else None
        if kept is None:
            return False
        self._known[_hash(text)] = kept.completion
        tokens = kept.completion.prompt_tokens if kept.earlier else 0
        self._spend(Spent(kept=kept.earlier, remembered=not kept.earlier, prompt_tokens=tokens))
        return True

    def _remember(self, answers: Mapping[str, Completion | BackendError]) -> None:
        """Keep answers, in the store those that are none of an error."""
        if self._store is not None:
            completions = {
                self._stored_as(text): answer
                for text, answer in answers.items()
                if isinstance(answer, Completion)
            }
            self._store.put(completions)
        self._known.update((_hash(text), answer) for text, answer in answers.items())

    def _ask_together(self, group: Mapping[str, Question]) -> dict[str, Completion | BackendError]:
        first = next(iter(group.values()))
        start = self._clock()
        answers = complete_many(
            self.backend,
            [question.messages for question in group.values()],
            tools=first.tools,
            tool_choice=first.tool_choice,
            max_tokens=first.max_tokens,
        )
        self._spend(Spent(seconds=self._clock() - start))
        for answer in answers:
            if isinstance(answer, Completion):
                self._spend(
                    Spent(
                        asked=1,
                        prompt_tokens=answer.prompt_tokens,
                        computed_tokens=answer.prompt_tokens - answer.cached_tokens,
                        completion_tokens=answer.completion_tokens,
                    )
                )
        return dict(zip(group, answers, strict=True))

    def _spend(self, more: Spent) -> None:
        self.spent = self.spent + more

    def _stored_as(self, text: str) -> str:
        return _hash(f"{self._fingerprint}\n{text}")


def grouped(
    questions: Mapping[str, Question], *, at_once: int = 0
) -> Iterator[dict[str, Question]]:
    """Yield questions by their texts, in groups to be asked together.

    Those with common beginnings come one after the other, so that a backend finds their prefix
    still computed. A group has one set of tools and one way to ask, at most ``GROUP`` questions,
    and shares at least half of the longest: what the engine asks of prompts it decodes in step.

    Args:
        questions: text -> question.
        at_once: unlike questions that the backend answers at once; a group is then ``ROUNDS``
            times as long, and need not share anything.
    """
    longest = ROUNDS * at_once or GROUP
    group: dict[str, Question] = {}
    for text, question in sorted(questions.items(), key=lambda item: item[0]):
        half = (max(map(len, (*group, text))) + 1) // 2
        if group:
            first_text, first = next(iter(group.items()))
            alike = question.asked_like(first) and (at_once or text[:half] == first_text[:half])
            if not alike or len(group) == longest:
                yield group
                group = {}
        group[text] = question
    if group:
        yield group


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
