"""Assembly policies and compaction strategies of AG2 1.x."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from pytest_ctxguard.policies.adapters.ag2_events import ag2_events, back, events
from pytest_ctxguard.policies.adapters.fields import plain_text
from pytest_ctxguard.policies.adapters.framework import require
from pytest_ctxguard.policies.adapters.kept import Room, Store, keeping
from pytest_ctxguard.policies.adapters.originals import Originals
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript.messages import Message, instructions


def ag2(*policies: Any) -> Policy:
    """Adapt assembly policies, which run one after the other before each model call.

    They see the whole stream every time, as an agent's do, with all events of each tool round. The
    system messages at the start are the prompts; later ones are the user's. Reasoning is left out,
    and parts other than text and images stand as their kind in brackets.

    Args:
        policies: what an agent's ``assembly`` has, in its order.

    Raises:
        FrameworkMissing: ag2 is not installed (when the policy runs).
    """

    async def adapted(messages: list[dict[str, Any]]) -> list[Message]:
        lead = instructions(messages)
        told = Originals[Any](back=back)
        stream = [
            told.enter(event, *places) if places else event
            for event, places in events(messages, lead)
        ]
        given = [plain_text(message) for message in messages[:lead]]
        prompts, context = list(given), _context()
        for policy in policies:
            prompts, stream = await policy.apply(prompts, stream, context)
        known = dict(zip(given, messages, strict=False))
        first = [known.get(text, {"role": "system", "content": text}) for text in prompts]
        same = prompts == given
        return [*(messages[:lead] if same else first), *told.restore(stream, messages)]

    adapted.__qualname__ = "adapt.ag2"
    return adapted


def ag2_compact(make: Callable[..., Any], *, trigger: Any) -> Policy:
    """Adapt a ``CompactStrategy``; state lives as long as one replay.

    It runs after each turn if the trigger says so, and what it returns is the stream from then on.
    If it raises, the framework logs that and goes on with the stream as it was; so does this.

    Args:
        make: makes the strategy, for example ``lambda: TailWindowCompact(target=20)``.
        trigger: a ``CompactTrigger``, for example ``CompactTrigger(max_events=40)``.

    Raises:
        UsageError: ``make`` is no factory.
        FrameworkMissing: ag2 is not installed (when the policy runs).
    """
    store = Store(
        adapter="ag2_compact",
        needs=ag2_events,
        make=make,
        hold=lambda made: SimpleNamespace(strategy=made, events=[], seen=0),
        read=events,
        back=back,
        tell=partial(_tell, trigger=trigger),
        ask=_ask,
        apart=True,
    )
    return keeping(store)


def _context() -> Any:
    context = require("ag2.context", adapter="ag2", pip="ag2>=1.2")
    stream = require("ag2.stream", adapter="ag2", pip="ag2>=1.2")
    return context.ConversationContext(stream.MemoryStream())


async def _tell(agent: Any, event: Any, *, trigger: Any) -> None:
    if isinstance(event, ag2_events().ModelRequest) and agent.events:  # the last turn has ended
        await _compact(agent, trigger)
    agent.events.append(event)


async def _compact(agent: Any, trigger: Any) -> None:
    kinds = ag2_events()
    count = len(agent.events)
    tokens = sum(kinds.estimated_tokens(e, trigger.chars_per_token) for e in agent.events)
    due = 0 < trigger.max_events < count or 0 < trigger.max_tokens < tokens
    if count <= agent.seen or not due:
        return
    try:
        agent.events = list(await agent.strategy.compact(list(agent.events), _context(), None))
    except Exception:  # as the framework does
        logging.getLogger(__name__).exception("AG2's compaction failed")
        return
    agent.seen = len(agent.events)


async def _ask(agent: Any, _: Room) -> list[Any]:
    return list(agent.events)
