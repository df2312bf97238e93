"""Policies of Inspect: ``trim_messages`` and compaction strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pytest_ctxguard.policies.adapters.conversion import Factory, Table, Whole
from pytest_ctxguard.policies.adapters.feed import Feed
from pytest_ctxguard.policies.adapters.framework import require
from pytest_ctxguard.policies.adapters.inspect_messages import ADAPTER, CONVERSION, PIP
from pytest_ctxguard.policies.protocol import Policy, is_factory
from pytest_ctxguard.transcript.messages import Message, turn_starts


def inspect_ai(policy: Any, *, model: Any = None) -> Policy:
    """Adapt a policy of Inspect.

    Args:
        policy: one of

            - a function from messages to messages, such as ``partial(trim_messages,
              preserve=0.5)``. It sees the whole history at every call, and may ask for ``budget``,
              ``tools`` and ``count``, which counts Inspect's messages exactly;
            - a compaction strategy, such as ``CompactionEdit(threshold=1500)``, run by the handler
              that Inspect's agents use: it is told new messages at each call, and what it made of
              the older ones stays. Messages up to the first user message are its prefix; no usage
              is reported to it;
            - a function without arguments that makes one of these.
        model: the model, or its name, by which a strategy counts and which it may ask; if not
            given, ``inspect_ai_model`` with the answer "Done.".

    Returns:
        A policy, or for a strategy or a function without arguments a factory of policies, each
        with the state of one replay.
    """
    if _is_strategy(policy):
        return Factory(policy, lambda: _Handler(policy, model))
    if not is_factory(policy):
        return _whole(policy)

    def new() -> Policy:
        made = policy()
        return _Handler(made, model) if _is_strategy(made) else _whole(made)

    return Factory(policy, new)


def inspect_ai_model(answer: Callable[[list[Message]], str]) -> Any:
    """Make a model that answers with a function; for summarisers under test.

    It counts a token for every four characters: Inspect's own count fetches a vocabulary.

    Args:
        answer: takes the request as OpenAI-format messages and returns the text, or raises.

    Raises:
        FrameworkMissing: inspect-ai is not installed.
    """
    models = require("inspect_ai.model", adapter=ADAPTER, pip=PIP)

    def answered(messages: list[Any], tools: Any, choice: Any, config: Any) -> Any:
        asked = [found for message in messages for found in CONVERSION.back(message)]
        return models.ModelOutput.from_content(model="ctxguard", content=answer(asked))

    async def counted(text: str) -> int:
        return -(-len(text) // 4)

    model = models.get_model("mockllm/ctxguard", memoize=False, custom_outputs=answered)
    model.api.count_text_tokens = counted
    return model


def _is_strategy(policy: Any) -> bool:
    return hasattr(policy, "compact") and hasattr(policy, "threshold")


def _whole(policy: Any) -> Whole:
    return Whole(func=policy, call=policy, conversion=CONVERSION)


@dataclass(slots=True)
class _Handler:
    """A compaction strategy in the handler that keeps what it has compacted."""

    func: Any
    model: Any
    table: Table = field(default_factory=CONVERSION.table)
    feed: Feed = field(default_factory=lambda: Feed(ADAPTER))
    told: list[Any] = field(default_factory=list)
    handler: Any = None

    async def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages to send; the handler goes on from the last call."""
        self.told += self.table.made(messages, self.feed.new(messages))
        if self.handler is None:
            prefix = self.told[: next(iter(turn_starts(messages)), -1) + 1]
            module = require("inspect_ai.model", adapter=ADAPTER, pip=PIP)
            model = self.model or inspect_ai_model(lambda messages: "Done.")
            self.handler = module.compaction(self.func, prefix, model=model)
        sent, _ = await self.handler.compact_input(list(self.told))
        return self.table.restored(sent, messages)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        """Refuse: the handler's state is in closures, and a copy would go on sharing it."""
        raise TypeError("Inspect's compaction handlers cannot be copied")
