"""The model as summariser: what compacting and note-taking policies are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import BackendError, UsageError
from pytest_ctxguard.recall.asking import Asker, Question
from pytest_ctxguard.transcript.messages import Message

SUMMARY_TOKENS = 256
"""Longest summary, in tokens, where the policy asks for no other length."""


class EngineSummariser:
    """Asks a backend for summaries, greedily, and each only once.

    It goes to a replay as ``summariser=``. A policy's copies share it, so that a summary made at
    a call is not paid for again by the probes.

    Args:
        asker: what asks the model, and remembers.
        max_tokens: longest summary where the policy asks for no other length.
    """

    def __init__(self, asker: Asker, *, max_tokens: int = SUMMARY_TOKENS) -> None:
        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
            raise UsageError(
                f"EngineSummariser(max_tokens={max_tokens!r}): give a positive number of tokens"
            )
        self._asker, self._max_tokens = asker, max_tokens

    def __deepcopy__(self, memo: dict[int, Any]) -> EngineSummariser:
        return self

    @property
    def name(self) -> str:
        """The model, and the longest summary: ``qwen2.5-0.5b-instruct, 256 tokens``."""
        model = self._asker.backend.identity["model"].partition("@")[0]
        return f"{model}, {self._max_tokens} tokens"

    def __call__(
        self,
        shown: str | Sequence[Message],
        *,
        max_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Completion:
        """Return the model's answer to what it is shown; a text is one user message.

        Raises:
            PromptTooLong: it is beyond the context window.
            BackendError: anything else that kept the model from answering.
        """
        messages = [{"role": "user", "content": shown}] if isinstance(shown, str) else shown
        question = Question(
            tuple(messages), tools=tuple(tools), max_tokens=max_tokens or self._max_tokens
        )
        (answer,) = self._asker.ask([question], label="summarising")
        if isinstance(answer, BackendError):
            raise answer.with_traceback(None)  # remembered, and raised each time it is asked for
        return answer
