"""The backend: what it asks, and with whom it compares."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pytest_ctxguard.backend import (
    GREEDY,
    Completion,
    Message,
    Sampling,
    ToolChoice,
    Watch,
)
from pytest_ctxguard.endpoint.address import base_url, bearer
from pytest_ctxguard.endpoint.answers import read_answer
from pytest_ctxguard.endpoint.knowing import Description, describe, ollama_window
from pytest_ctxguard.endpoint.retrying import Patience
from pytest_ctxguard.endpoint.sending import Sender
from pytest_ctxguard.endpoint.together import together
from pytest_ctxguard.errors import BackendError, UsageError

AT_ONCE = 8
ANY_QUESTION = {"role": "user", "content": "Hello"}


class EndpointBackend:
    """Asks a server that speaks OpenAI's chat completions.

    Attributes:
        url: the base URL.
        at_once: the most requests that are under way at once.

    Args:
        url: the base URL that OpenAI clients take; a bare ``http://host:port`` gets ``/v1``.
        model: the model to ask for; needed only where the server has several.
        key: sent as bearer token; it never stands in an error's text.
        at_once: see above.
        timeout: seconds to wait for an answer.
        patience: how often and how long a request is tried that fails for now.
        clock: seconds.
        sleep: waits so many seconds before a request is sent again.
        chance: draws from 0 to 1, for the lengths of these waits.

    Raises:
        UsageError: the URL is none, or carries a user name or password; the key is none that a
            header carries; ``at_once`` or ``timeout`` is not above 0.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        key: str | None = None,
        at_once: int = AT_ONCE,
        timeout: float = 600.0,
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if at_once < 1 or timeout <= 0:
            raise UsageError(f"at_once={at_once}, timeout={timeout:g}: both are above 0")
        self.url = base_url(url)
        self._model, self.at_once = model, at_once
        self._sender = Sender(
            self.url,
            key=bearer(key),
            timeout=timeout,
            patience=patience or Patience(),
            clock=clock,
            sleep=sleep,
            chance=chance,
        )

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """What the answers depend on, as far as the server says it.

        A server of ours says what its own backend says, so that results through it and in
        process are comparable. Any other is asked one short question, too: its answer carries
        the ``system_fingerprint``, and a wrong key or model is met before the first probe.

        Raises:
            BackendError: it does not answer, or not for the model named.
        """
        known = self._description
        if known.ours:
            return known.identity
        body = self._body([ANY_QUESTION], max_tokens=1)
        said = self._sender.ask("POST", "/chat/completions", body=body).get("system_fingerprint")
        numerics = known.identity["numerics"]
        if said and str(said) not in numerics:
            numerics += f"; system_fingerprint {said}"
        return {**known.identity, "numerics": numerics}

    @property
    def window(self) -> int | None:
        """Tokens that prompt and answer may have together; None where the server says none."""
        return self._description.window

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
        stop: Sequence[str] = (),
        sampling: Sampling = GREEDY,
        watch: Watch | None = None,
    ) -> Completion:
        """Answer one request; ``watch`` is told the text whole, once it is there.

        Raises:
            PromptTooLong: the server says so, with both figures.
            BackendError: it refused, could not be reached, or sent what is no answer.
        """
        body = self._body(messages, max_tokens=max_tokens, sampling=sampling)
        if tools and tool_choice != "none":  # with it, vLLM would leave them in the prompt
            body["tools"] = list(tools)
        if "tools" in body or tool_choice == "required":  # without any, the server's to refuse
            body["tool_choice"] = tool_choice
        if stop:
            body["stop"] = list(stop)
        data = self._sender.ask("POST", "/chat/completions", body=body)
        try:
            completion = read_answer(data)
        except ValueError as error:
            raise self._sender.error(f"sent {error}.") from None
        if self._description.cuts:
            self._check_uncut(completion)
        if watch is not None:
            watch(completion.text)
        return completion

    def complete_many(
        self,
        requests: Sequence[Sequence[Message]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        tool_choice: ToolChoice = "auto",
        max_tokens: int = 48,
    ) -> tuple[Completion | BackendError, ...]:
        """Answer many requests; see ``backend.BatchBackend.complete_many``.

        Several are under way at once, unless the server answers one after the other.
        """

        def answer(messages: Sequence[Message]) -> Completion | BackendError:
            try:
                return self.complete(
                    messages, tools=tools, tool_choice=tool_choice, max_tokens=max_tokens
                )
            except BackendError as error:
                return error.with_traceback(None)

        try:
            at_once = 1 if self._description.serial else self.at_once
        except BackendError as error:
            return (error.with_traceback(None),) * len(requests)
        return together(answer, requests, at_once=at_once)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._sender.close()

    @cached_property
    def _description(self) -> Description:
        return describe(self._sender, model=self._model)

    def _body(
        self, messages: Sequence[Message], *, max_tokens: int, sampling: Sampling = GREEDY
    ) -> dict[str, Any]:
        known = self._description
        body: dict[str, Any] = {
            "model": known.model,
            "messages": [*map(_without_nulls, messages)] if known.no_nulls else list(messages),
            "max_tokens": max_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            **known.neutral,
        }
        if sampling.temperature:
            body["top_p"] = sampling.top_p
        return body

    def _check_uncut(self, completion: Completion) -> None:
        """Refuse an answer to a prompt that may have been cut.

        Ollama cuts a prompt beyond its window to somewhat more than half of it, or to all of it,
        and says so in its log only (its issues 17889 and 17427). What it counted then is above
        half of the window; a prompt below that is whole.
        """
        window = self._ollama_window
        if window is None or 2 * completion.prompt_tokens > window:
            limit = "does not say its context window" if window is None else f"has {window} tokens"
            raise self._sender.error(
                f"counted {completion.prompt_tokens} prompt tokens and {limit}: beyond half of "
                "its window Ollama may have cut the prompt. Set OLLAMA_CONTEXT_LENGTH to more "
                "than twice the longest prompt."
            )

    @cached_property
    def _ollama_window(self) -> int | None:
        return ollama_window(self._sender, self._description.model)


def _without_nulls(message: Message) -> Message:
    return {name: value for name, value in message.items() if value is not None}
