"""Conversation managers of Strands Agents.

A manager cuts the agent's own list of messages, so what it drops is gone for good.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from pytest_ctxguard.errors import PolicyError
from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    arguments,
    groups,
    image_url,
    object_call,
    part_text,
    parts_of,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.policies.adapters.kept import Room, Store, keeping
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls

IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,(.*)", re.DOTALL)
Block = dict[str, Any]


def strands(make: Callable[..., Any], *, overflow: bool = False) -> Policy:
    """Adapt a ``ConversationManager``; state lives as long as one replay.

    The manager acts where an agent lets it: after each turn, and before each model call through
    its own hooks (``per_turn``, ``proactive_compression``; the tokens are those of the replay's
    counter, the context window is the budget). System messages at the start are the agent's system
    prompt and never cut; later ones are user messages to the manager. Parts that Bedrock's format
    has no block for stand as their kind in brackets.

    Args:
        make: makes the manager, for example ``lambda: SlidingWindowConversationManager(12)``.
        overflow: the model refuses more than the replay's budget, and the manager is asked to
            reduce until it fits, as the agent does on a ``ContextWindowOverflowException``.

    Raises:
        UsageError: ``make`` is no factory.
        FrameworkMissing: strands-agents is not installed (when the policy runs).
        PolicyError: the manager was asked to reduce and changed nothing (when the policy runs).
    """
    store = Store(
        adapter="strands",
        needs=_hooks,
        make=make,
        hold=lambda made: SimpleNamespace(messages=[], conversation_manager=made),
        read=_read,
        back=_back,
        tell=_tell,
        ask=partial(_ask, overflow=overflow),
        apart=True,
    )
    return keeping(store)


def _hooks() -> ModuleType:
    return require("strands.hooks", adapter="strands", pip="strands-agents>=1.62")


async def _tell(agent: Any, message: Any) -> None:
    results = any("toolResult" in block for block in message["content"])
    if message["role"] == "user" and not results and agent.messages:
        agent.conversation_manager.apply_management(agent)  # the turn before it has ended
    agent.messages.append(message)


async def _ask(agent: Any, room: Room, *, overflow: bool) -> list[Any]:
    hooks = _hooks()
    manager = agent.conversation_manager
    tokens = None if room.tokens is None else room.tokens(agent.messages)
    agent.model = SimpleNamespace(
        context_window_limit=room.budget,
        estimate_utilization=lambda tokens: tokens / room.budget if room.budget else 0.0,
    )
    registry = hooks.HookRegistry()
    manager.register_hooks(registry)
    await registry.invoke_callbacks_async(
        hooks.BeforeModelCallEvent(agent=agent, projected_input_tokens=tokens)
    )
    agent.model = None  # its room is that of this call, and a copy of the policy needs none
    if overflow and room.budget is not None and room.tokens is not None:
        while room.tokens(agent.messages) > room.budget:
            _reduce(agent)
    return list(agent.messages)


def _reduce(agent: Any) -> None:
    errors = require("strands.types.exceptions", adapter="strands", pip="strands-agents>=1.62")
    before = copy.deepcopy(agent.messages)
    refused = errors.ContextWindowOverflowException("the request is over the budget")
    agent.conversation_manager.reduce_context(agent, e=refused)
    if agent.messages == before:
        raise PolicyError(
            f"adapt.strands: {type(agent.conversation_manager).__name__}.reduce_context changed "
            "nothing although the request is over the budget, so the agent would ask it forever. "
            "Remedy: it must drop or shorten a message, or raise"
        )


def _read(messages: Sequence[Message], start: int) -> Iterator[tuple[Any, range]]:
    for group in groups(messages, start):
        message = messages[group.start]
        if message.get("role") == "tool":
            yield {"role": "user", "content": [_result(messages[i]) for i in group]}, group
            continue
        blocks = [_block(part) for part in parts_of(message)]
        blocks += [_use(call) for call in tool_calls(message)]
        role = "assistant" if message.get("role") == "assistant" else "user"
        yield {"role": role, "content": blocks}, group


def _block(part: parts.Part) -> Block:
    found = IMAGE.fullmatch(image_url(part) or "")
    if found is None:
        return {"text": part_text(part)}
    # base64 text in place of its bytes: the manager only asks how long it is
    return {"image": {"format": found[1], "source": {"bytes": found[2].encode()}}}


def _use(call: Mapping[str, Any]) -> Block:
    name = (call.get("function") or {}).get("name") or UNNAMED
    return {"toolUse": {"toolUseId": str(call.get("id")), "name": name, "input": arguments(call)}}


def _result(message: Message) -> Block:
    return {
        "toolResult": {
            "toolUseId": str(message.get("tool_call_id")),
            "status": "error" if message.get("is_error") else "success",
            "content": [_block(part) for part in parts_of(message)],
        }
    }


def _back(message: Any) -> list[Message]:
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        raise unknown(message, adapter="strands")
    blocks = message["content"]
    results = [_tool(block["toolResult"]) for block in blocks if "toolResult" in block]
    calls = [
        object_call(use["toolUseId"], use["name"], arguments=use["input"])
        for use in (block["toolUse"] for block in blocks if "toolUse" in block)
    ]
    said = [_part(b) for b in blocks if "toolResult" not in b and "toolUse" not in b]
    if results and not said:
        return results
    spoken: Message = {"role": message.get("role"), "content": parts.content(said)}
    return [*results, {**spoken, "tool_calls": calls} if calls else spoken]


def _tool(result: Mapping[str, Any]) -> Message:
    content = parts.content([_part(block) for block in result["content"]])
    return {"role": "tool", "tool_call_id": result["toolUseId"], "content": content or ""}


def _part(block: Mapping[str, Any]) -> parts.Part:
    if "image" in block:
        data = block["image"]["source"]["bytes"].decode()
        return parts.image(parts.data_url(f"image/{block['image']['format']}", data))
    if "text" in block:
        return parts.text(block["text"])
    return parts.opaque(f"bedrock/{next(iter(block), 'empty')}", dict(block))
