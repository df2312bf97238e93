"""Stands between a policy and what it calls, and keeps what passed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import isawaitable, iscoroutine
from operator import itemgetter
from typing import Any, cast

from pytest_ctxguard.backend import Completion
from pytest_ctxguard.errors import PolicyError, UsageError
from pytest_ctxguard.policies.protocol import is_async, policy_name
from pytest_ctxguard.replay.calls import Counted, Summary
from pytest_ctxguard.tokens.buckets import Counter
from pytest_ctxguard.transcript.messages import Message, copy_json, tool_calls

Shown = str | Sequence[Message]
Written = str | Completion | None
Summariser = Callable[..., Written | Awaitable[Written]]
"""From messages or text to text; gets ``max_tokens`` and ``tools`` if its signature names them.

One that returns a backend's :class:`~pytest_ctxguard.backend.Completion` says with it how many
tokens it generated, and why it ended; the policy is given its text.
"""

ENDLESS = 1000  # summariser calls for one request; a note on each user message of a session is less


class EndlessSummarising(BaseException):
    """Ends a policy that calls its summariser for ever; no ``except Exception`` may catch it."""


class EndlessPolicy(PolicyError):
    """A policy that was ended because it called its summariser for ever."""


class Recorder:
    """Counts and summarises for a policy.

    Copies of a policy share it: what it records, it hands over after each request.
    """

    def __init__(
        self,
        counter: Counter,
        *,
        tools: Sequence[Mapping[str, Any]],
        summariser: Summariser | None,
        size: Callable[[Sequence[Message]], int] | None = None,
    ) -> None:
        self._counter, self._summariser = counter, summariser
        self._size = size or partial(counter.count, tools=tools)
        self._named = () if summariser is None else _named(summariser)
        self._summaries: list[Summary] = []
        self._counted = Counted()

    def __deepcopy__(self, memo: dict[int, Any]) -> Recorder:
        return self

    def take(self) -> tuple[tuple[Summary, ...], Counted]:
        """Hand over what was recorded since the last time."""
        taken = tuple(self._summaries), self._counted
        self._summaries, self._counted = [], Counted()
        return taken

    def summarise_for(self, policy: Any) -> Callable[..., Any] | None:
        """Return the summariser in the form a policy can call, if there is one."""
        if self._summariser is None:
            return None
        return self.summarise_async if is_async(policy) else self.summarise

    def count(self, messages: Sequence[Message]) -> int:
        """Return the exact tokens of the request that messages make; for the policy."""
        tokens = self._size(messages)
        try:
            roles = set(map(str, set(map(itemgetter("role"), messages))))
        except (KeyError, TypeError):  # none, or no text: in C this costs half as much
            roles = {str(message.get("role")) for message in messages}
        self._counted |= Counted(
            1,
            frozenset(roles),
            self._counted.tool_calls or any(map(tool_calls, messages)),
        )
        return tokens

    def summarise(
        self,
        shown: Shown,
        *,
        max_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> str | None:
        """Ask the summariser; what it raises is recorded and raised.

        Raises:
            UsageError: it is async, and the policy is not.
        """
        entry = self._entry(shown, max_tokens, tools)
        try:
            text = self._ask(shown, max_tokens, tools)
        except Exception as error:  # a summariser is user code
            self._summaries.append(Summary(**entry, text=None, raised=_named_error(error)))
            raise
        if isawaitable(text):
            if iscoroutine(text):
                text.close()
            raise UsageError(
                "the summariser is async, and the policy calls it without awaiting. Give a sync "
                "one, or make the policy an `async def`."
            )
        return self._keep(entry, text)

    async def summarise_async(
        self,
        shown: Shown,
        *,
        max_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> str | None:
        """Do the same for an async policy; the summariser may be sync or async."""
        entry = self._entry(shown, max_tokens, tools)
        try:
            text = self._ask(shown, max_tokens, tools)
            text = await text if isawaitable(text) else text
        except Exception as error:  # a summariser is user code
            self._summaries.append(Summary(**entry, text=None, raised=_named_error(error)))
            raise
        return self._keep(entry, text)

    def _ask(self, shown: Shown, max_tokens: int | None, tools: Sequence[Any]) -> Any:
        offered = {"max_tokens": max_tokens, "tools": tools}
        summariser = cast(Summariser, self._summariser)  # see summarise_for
        return summariser(shown, **{name: offered[name] for name in self._named})

    def _entry(self, shown: Shown, max_tokens: int | None, tools: Sequence[Any]) -> dict[str, Any]:
        if len(self._summaries) >= ENDLESS:
            raise EndlessSummarising(f"{ENDLESS} summariser calls for one request")
        messages = [{"role": "user", "content": shown}] if isinstance(shown, str) else shown
        if not isinstance(messages, Sequence) or not all(isinstance(m, Mapping) for m in messages):
            raise PolicyError(
                f"summarise was given {type(shown).__name__}; it takes a list of OpenAI-format "
                "messages, or one text"
            )
        messages = tuple(copy_json(message) for message in messages)
        return {
            "shown": messages,
            "tokens": self._counter.count(messages, tools=tools),
            "max_tokens": max_tokens,
            "tools": tuple(copy_json(tool) for tool in tools),
        }

    def _keep(self, entry: dict[str, Any], text: Any) -> str | None:
        if isinstance(text, Completion):
            entry["written"], entry["finish_reason"] = text.completion_tokens, text.finish_reason
            text = text.text
        if text is not None and not isinstance(text, str):
            raise UsageError(
                f"the summariser {policy_name(self._summariser)} returned {type(text).__name__}; "
                "it returns the summary as text, or None where the model gave none"
            )
        self._summaries.append(Summary(**entry, text=text))
        return text


def _named_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _named(summariser: Summariser) -> tuple[str, ...]:
    """Return which of the further arguments a summariser names.

    Raises:
        UsageError: it cannot be called.
    """
    if not callable(summariser):
        raise UsageError(f"summariser={summariser!r} cannot be called; it is a function")
    try:
        parameters = inspect.signature(summariser).parameters.values()
    except ValueError:  # a builtin without a signature
        return ()
    names = [parameter.name for parameter in parameters]
    rest = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return tuple(name for name in ("max_tokens", "tools") if rest or name in names)
