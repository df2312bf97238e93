"""Memories of LlamaIndex: ``Memory``, ``ChatMemoryBuffer`` and others with their interface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

from pytest_ctxguard.policies.adapters.fields import (
    UNNAMED,
    function_call,
    image_url,
    part_text,
    parts_of,
)
from pytest_ctxguard.policies.adapters.framework import require, unknown
from pytest_ctxguard.policies.adapters.kept import Room, Store, keeping
from pytest_ctxguard.policies.protocol import Policy
from pytest_ctxguard.transcript import parts
from pytest_ctxguard.transcript.messages import Message, tool_calls


def llama_index(
    make: Callable[..., Any],
    *,
    system: Literal["apart", "inside"] = "apart",
    scratchpad: bool = False,
) -> Policy:
    """Adapt a ``BaseMemory``; state lives as long as one replay.

    The memory is told each message once, through ``aput``, and asked through ``aget``. Calls are
    ``ToolCallBlock`` blocks. Parts other than text and images stand as their kind in brackets.
    ``Memory`` never closes the database connection of its default store, so a suite that turns
    warnings into errors has to let that ``ResourceWarning`` pass.

    Args:
        make: makes the memory, for example ``lambda: ChatMemoryBuffer.from_defaults(
            token_limit=1500)``.
        system: who keeps the system messages at the start: the agent, as a ``FunctionAgent`` does
            (``apart``), or the memory like all others (``inside``).
        scratchpad: the rounds of the current turn are beside the memory, uncut, until the turn
            has ended, as a ``FunctionAgent`` has them.

    Raises:
        UsageError: ``make`` is no factory.
        FrameworkMissing: llama-index-core is not installed (when the policy runs).
    """
    store = Store(
        adapter="llama_index",
        needs=_types,
        make=make,
        hold=lambda made: SimpleNamespace(memory=made, scratchpad=[]),
        read=_read,
        back=_back,
        tell=partial(_tell, scratchpad=scratchpad),
        ask=_ask,
        apart=system == "apart",
    )
    return keeping(store)


def _types() -> ModuleType:
    return require(
        "llama_index.core.base.llms.types", adapter="llama_index", pip="llama-index-core>=0.14"
    )


async def _tell(agent: Any, message: Any, *, scratchpad: bool) -> None:
    if scratchpad and message.role.value in ("assistant", "tool"):
        agent.scratchpad.append(message)
        return
    ended, agent.scratchpad = agent.scratchpad, []
    await agent.memory.aput_messages([*ended, message])


async def _ask(agent: Any, _: Room) -> list[Any]:
    return [*await agent.memory.aget(), *agent.scratchpad]


def _read(messages: Sequence[Message], start: int) -> Iterator[tuple[Any, range]]:
    types = _types()
    for place in range(start, len(messages)):
        message = messages[place]
        thought = message.get("reasoning_content")
        blocks = [types.ThinkingBlock(content=thought)] if isinstance(thought, str) else []
        blocks += [_block(types, part) for part in parts_of(message)]
        blocks += [_call(types, call) for call in tool_calls(message)]
        beside = {key: message[key] for key in ("tool_call_id", "name") if key in message}
        role = message.get("role")
        made = types.ChatMessage(role=role, blocks=blocks, additional_kwargs=beside)
        yield made, range(place, place + 1)


def _block(types: ModuleType, part: parts.Part) -> Any:
    url = image_url(part)
    if url is not None:
        try:
            return types.ImageBlock(url=url)
        except ValueError:  # no address by the framework's standards
            pass
    return types.TextBlock(text=part_text(part))


def _call(types: ModuleType, call: Mapping[str, Any]) -> Any:
    function = call.get("function") or {}
    return types.ToolCallBlock(
        tool_call_id=str(call.get("id")),
        tool_name=function.get("name") or UNNAMED,
        tool_kwargs=function.get("arguments") or "",
    )


def _back(message: Any) -> list[Message]:
    if not hasattr(message, "blocks") or not hasattr(message, "additional_kwargs"):
        raise unknown(message, adapter="llama_index")
    said, calls, thoughts = list[parts.Part](), list[dict[str, Any]](), list[str]()
    for block in message.blocks:
        if block.block_type == "tool_call":
            calls.append(_called(block))
        elif block.block_type == "thinking":
            thoughts.append(block.content or "")
        else:
            said.append(_part(block))
    back: dict[str, Any] = {"role": message.role.value, "content": parts.content(said)}
    if message.role.value != "assistant" and back["content"] is None:
        back["content"] = ""
    if thoughts:
        back["reasoning_content"] = "".join(thoughts)
    known = ("tool_calls", "tool_call_id", "name")
    back |= {
        key: message.additional_kwargs[key] for key in known if key in message.additional_kwargs
    }
    return [{**back, "tool_calls": calls} if calls else back]


def _called(block: Any) -> dict[str, Any]:
    given = block.tool_kwargs
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return function_call(block.tool_call_id or "", block.tool_name, arguments=text)


def _part(block: Any) -> parts.Part:
    if block.block_type == "text":
        return parts.text(block.text)
    if block.block_type == "image" and block.url is not None:
        return parts.image(str(block.url))
    return parts.opaque(f"llama-index/{block.block_type}", block.model_dump(mode="json"))
