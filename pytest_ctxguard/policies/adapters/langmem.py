"""Policies of LangMem: ``summarize_messages`` and ``asummarize_messages``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.conversion import Factory, Whole
from pytest_ctxguard.policies.adapters.langchain_messages import conversion
from pytest_ctxguard.policies.protocol import Policy, is_factory
from pytest_ctxguard.transcript.messages import Message


def langmem(policy: Callable[..., Any]) -> Policy:
    """Adapt a policy of LangMem.

    It sees the whole history at every call, with ids, and the running summary that it returned at
    the call before, as a graph that keeps both in its state.

    Args:
        policy: such as ``partial(summarize_messages, model=…, max_tokens=1500)``. It may ask for
            ``budget``, ``tools`` and ``count``, which counts LangChain messages exactly. Or a
            function without arguments that makes one.

    Returns:
        A factory of policies, each with the running summary of one replay.
    """
    made = policy if is_factory(policy) else lambda: policy
    return Factory(policy, lambda: _Running(made()))


@dataclass(slots=True)
class _Running:
    """A policy and its running summary."""

    func: Any
    summary: Any = None

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        budget: int | None = None,
        count: Callable[[Sequence[Message]], int] | None = None,
        tools: Sequence[Any] | None = None,
    ) -> list[Message] | Awaitable[list[Message]]:
        """Return the messages to send; the summary goes on from the last call."""
        whole = Whole(
            func=self.func,
            call=partial(self.func, running_summary=self.summary),
            conversion=conversion("langmem"),
            read=self._read,
        )
        return whole(messages, budget=budget, count=count, tools=tools)

    def _read(self, result: Any) -> Any:
        if not hasattr(result, "messages") or not hasattr(result, "running_summary"):
            raise PolicyError(
                f"adapt.langmem: the policy returned {type(result).__name__}, not a "
                "SummarizationResult. Remedy: return what summarize_messages returns"
            )
        self.summary = result.running_summary
        return result.messages
